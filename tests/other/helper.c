/* What tests of the program for Windows need there, beside mitmcraft.exe:
   helper close ARGS..: runs mitmcraft with these arguments, and closes its console when stdin has a byte or ends.
   helper mode ARGS..: runs mitmcraft in the same console, and returns the mode in which it leaves the console.
   helper filter: answers the questions of `proxy --pipe`: masks a word in chat. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

static HANDLE start(const wchar_t *before, DWORD flags) {
    STARTUPINFOW start = {sizeof start};
    PROCESS_INFORMATION process;
    wchar_t program[MAX_PATH], line[32768];
    GetModuleFileNameW(NULL, program, MAX_PATH);
    wcscpy(wcsrchr(program, L'\\') + 1, L"mitmcraft.exe");
    swprintf(line, 32768, L"\"%ls\" %ls", program, wcsstr(GetCommandLineW(), before) + wcslen(before));
    start.dwFlags = flags;
    start.hStdOutput = GetStdHandle(STD_OUTPUT_HANDLE);
    start.hStdError = GetStdHandle(STD_ERROR_HANDLE);
    if (!CreateProcessW(program, line, NULL, NULL, TRUE, 0, NULL, NULL, &start, &process)) exit(101);
    return process.hProcess;
}

static int close_console(void) {
    char byte;
    DWORD count, code;
    HANDLE process = start(L" close ", STARTF_USESTDHANDLES);
    ReadFile(GetStdHandle(STD_INPUT_HANDLE), &byte, 1, &count, NULL);
    /* This is how Windows tells each program of a console that it closes. */
    LPTHREAD_START_ROUTINE told = (void *)GetProcAddress(GetModuleHandleW(L"kernelbase"), "CtrlRoutine");
    if (!CreateRemoteThread(process, NULL, 0, told, (void *)CTRL_CLOSE_EVENT, 0, NULL)) return 102;
    /* Windows waits so long. */
    if (WaitForSingleObject(process, 5000)) return 103;
    GetExitCodeProcess(process, &code);
    return code;
}

static int mode(void) {
    DWORD mode;
    WaitForSingleObject(start(L" mode ", 0), INFINITE);
    return GetConsoleMode(GetStdHandle(STD_OUTPUT_HANDLE), &mode) ? mode : 104;
}

static int filter(void) {
    static char line[1 << 20];
    while (fgets(line, sizeof line, stdin)) {
        long long id = atoll(strstr(line, "\"id\":") + 5);
        if (strstr(line, "hello from a real client"))
            printf("{\"id\":%lld,\"set\":{\"message\":\"hello from a **** client\"}}\n", id);
        else
            printf("{\"id\":%lld,\"pass\":true}\n", id);
        fflush(stdout);
    }
    return 0;
}

int main(int count, char **words) {
    if (count > 1 && !strcmp(words[1], "close")) return close_console();
    if (count > 1 && !strcmp(words[1], "mode")) return mode();
    if (count > 1 && !strcmp(words[1], "filter")) return filter();
    return 100;
}

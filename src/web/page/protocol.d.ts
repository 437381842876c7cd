// The protocol between user interfaces and mitmcraft. Written by the test
// `the_types_of_the_page_are_those_of_the_protocol` from src/view/protocol.

/** The name of a request. */
export type RequestName = Request["do"];

/** The arguments of a request. */
export type Arguments<Name extends RequestName> = Omit<Extract<Request, { do: Name }>, "do">;

/** The answer to a request: that of the same name, or `done`. */
export type AnswerTo<Name extends RequestName> =
  Name extends Answer["answer"] ? Extract<Answer, { answer: Name }> : Extract<Answer, { answer: "done" }>;

/** The reply to a request: its answer, or an `error`. */
export type Reply<Name extends RequestName> =
  | (AnswerTo<Name> & { error?: undefined })
  | ({ [Key in keyof AnswerTo<Name>]?: undefined } & { error: Failure });

/** An action that a person can perform with a key. */
export type ActionInfo = {
  /** Its name. */
  name: string,
  /** Its keys, as browsers name them: `j`, `ArrowDown`. */
  keys: Array<string>,
  /** The keys as people read them: `j ↓`. */
  names: string,
  /** A description for people. */
  help: string,
  /** Other words by which people look for it. */
  words: string,
  /** The heading above it. */
  group: string,
  /** The things that it does something to: it is in their context menus. */
  on: Array<Thing>, };

/** The answer to a `Request` of the same name; `Done` to all others. */
export type Answer = { "answer": "done", }
| { "answer": "view",
  /** Warnings about the filter. */
  warnings: Array<Warning>,
  /** The number of packets found so far. */
  total: number, }
| { "answer": "check",
  /** Warnings about it. */
  warnings: Array<Warning>, }
| { "answer": "combine",
  /** The new filter. */
  filter: string, }
| { "answer": "complete",
  /** The offset from which on a name replaces the text before the cursor. */
  start: number,
  /** The names, in alphabetical order. */
  names: Array<string>, }
| { "answer": "rows",
  /** The index of the first one in the list. */
  start: number,
  /** The number of packets found so far. */
  total: number,
  /** The rows. */
  rows: Array<Row>, }
| { "answer": "row_numbers",
  /** The rows, in the order of the list. */
  rows: Array<number>, }
| { "answer": "field" } & PickedField | { "answer": "next_mark",
  /** The packet, if there is one. */
  found: Found | null, }
| { "answer": "details",
  /** Its row. */
  row: number,
  /** The packet. */
  packet: PacketDetails, }
| { "answer": "highlight",
  /** The colours, the first of which has precedence. */
  colors: Array<Highlight>,
  /** The file that keeps colours that are saved; `null` if none does. */
  file: string | null, }
| { "answer": "sent",
  /** The index of the first one. */
  start: number,
  /** The number of packets found so far. */
  total: number,
  /** The packets. */
  rows: Array<Row>, }
| { "answer": "replies",
  /** The packets. */
  rows: Array<Row>, }
| { "answer": "find",
  /** The packet, if there is one. */
  found: Found | null,
  /** `true` if not all packets were searched yet. */
  searching: boolean, }
| { "answer": "go_to",
  /** Its row, once it is found. */
  row: number | null,
  /** `true` if not all packets were looked at yet. */
  searching: boolean, }
| { "answer": "index",
  /** The number of packets of the list before it. */
  index: number,
  /** `true` if it is in the list itself, as far as is known. */
  found: boolean, }
| { "answer": "sessions",
  /** The sessions; if nothing else is asked for, the newest, oldest first. */
  sessions: Array<SessionInfo>,
  /** The number of older sessions: those that are no longer listed, and without `start` those before these. */
  left_out: number,
  /** The number of sessions that were searched. */
  total: number,
  /** The number of sessions that only asked for the server's status. */
  pings: number,
  /** The sessions that have ended so far; `null` if none has. */
  mark: SessionMark | null,
  /** The index of the session `anchor` among those that were searched. */
  anchor: number | null,
  /** The session `anchor`, even if `sessions` does not include it. */
  anchored: SessionInfo | null, }
| { "answer": "subscribe",
  /** Warnings about the filter. */
  warnings: Array<Warning>,
  /** The first row whose packet can be pushed. */
  from: number, }
| { "answer": "map_tile",
  /** The picture as PNG, in base64; `null` if no chunk of it is known. */
  png: string | null, }
| { "answer": "map_block",
  /** Its height; `null` if none is. */
  y: number | null,
  /** Its name. */
  name: string | null, }
| { "answer": "conversation",
  /** The index of the first one. */
  start: number,
  /** The number of lines found so far. */
  total: number,
  /** The lines. */
  lines: Array<ChatLine>,
  /** The index of the line of the row that was asked for, or of the next one after it. */
  anchor: number | null, }
| { "answer": "compare",
  /** The fields. */
  fields: Array<ComparedValues>,
  /** The first byte in each packet that differs, and the one after the last. */
  differing: [[number, number], [number, number]], }
| { "answer": "export",
  /** Bytes as base64. */
  piece: string,
  /** `true` if that is all. */
  last: boolean, }
| { "answer": "export_more",
  /** Bytes as base64. */
  piece: string,
  /** `true` if nothing follows. */
  last: boolean, }
| { "answer": "expression",
  /** An expression; `null` if the packet's type is not known. */
  expression: string | null,
  /** A rule as filter files have it. */
  rule: string | null, }
| { "answer": "packets",
  /** The state that they belong to. */
  state: State,
  /** Their names. */
  names: Array<string>, }
| { "answer": "form",
  /** The form. */
  form: Form, }
| { "answer": "form_of",
  /** Where the packet belongs. */
  place: FormPlace,
  /** The form. */
  form: Form, }
| { "answer": "rules",
  /** The files, in the order of their rules. */
  files: Array<RuleFile>,
  /** A text for each that is another one once it has changed. */
  versions: Array<string>,
  /** The results of their rules, by file. */
  counts: Array<Array<RuleResult>>, }
| { "answer": "rule_counts",
  /** The results, by file. */
  counts: Array<Array<RuleResult>>,
  /** A text for each file that is another one once it has changed. */
  versions: Array<string>, }
| { "answer": "check_rules",
  /** Its errors and warnings. */
  faults: Array<RulesFault>, }
| { "answer": "save_rules" } & SavedRules | { "answer": "held" } & HeldContent | { "answer": "held_rows" } & HeldRows | { "answer": "still_held",
  /** Their `number`s. */
  numbers: Array<number>,
  /** The number of those in the spans. */
  count: number, }
| { "answer": "decide",
  /** Their number. */
  decided: number, };

/** A condition on what is held. */
export type BreakCondition = {
  /** The expression. */
  where: string,
  /** `true` if later packets overtake a held one where the game bears it. */
  overtaken: boolean, };

/** The data of a chart. */
export type ChartData = {
  /** The beginning of the first bin in milliseconds since 1970; `null` without packets. */
  begin: number | null,
  /** The length of a bin in seconds. */
  step: number,
  /** The series, in the order in which they were asked for. */
  series: Array<ChartSeries>,
  /** The slowest round trip of the keep-alives answered in each bin, in seconds; `null` where there is none. */
  trips: Array<number | null>, };

/** The packets that match an expression, in each bin. */
export type ChartSeries = {
  /** The expression. */
  name: string,
  /** Numbers of packets. */
  packets: Array<number>,
  /** Bytes on the wire. */
  wire: Array<number>, };

/** A chat message or a command as players read it. */
export type ChatLine = {
  /** The row of its packet. */
  row: number,
  /** Its time in milliseconds since 1970. */
  at: number,
  /** Its session. */
  session: number,
  /** Its direction. */
  dir: Direction,
  /** The player of the session. */
  player: string | null,
  /** Who wrote it, if the packet has that apart from the text. */
  sender: Array<TextPiece> | null,
  /** The text; `null` if the packet does not decode as far. */
  text: Array<TextPiece> | null,
  /** The proxy's verdict on the packet. */
  verdict: string, };

/** The way in which a condition is added to a filter. */
export type Combination = "only" | "and" | "or" | "not";

/** A field of two packets. */
export type ComparedValues = {
  /** Its path: `items[3].itemCount`. */
  path: string,
  /** The number of containers and lists around it. */
  depth: number,
  /** Its value in the first packet, if that has it. */
  a: string | null,
  /** Its value in the second packet, if that has it. */
  b: string | null,
  /** `true` if both packets have it with this value. */
  same: boolean, };

/** A condition that is added to a filter. */
export type ConditionSource = { "expression": string }
| { "type_of": number }
| { "packets": {
  /** Their direction. */
  dir: Direction,
  /** Their state. */
  state: State,
  /** Their name. */
  name: string, } };

/** Something that happened to the running sessions. */
export type ControlPush = { "push": "control",
  /** The condition on what is held; `null` if nothing is. */
  break: BreakCondition | null,
  /** The condition that was set when the last interface had gone. It holds nothing until it is set again. */
  earlier: BreakCondition | null,
  /** The number of the interface that has set it; `null` if none has. */
  by: number | null,
  /** The number of attached interfaces. */
  interfaces: number, }
| { "push": "sending" } & Sending | { "push": "message",
  /** The session. */
  session: number,
  /** The reason. */
  text: string, };

/** The decision of a person about a held packet. */
export type Decided = "forward" | "drop" | "edit";

/** Why a packet does not decode. */
export type DecodeError = {
  /** The reason. */
  reason: string,
  /** The offset in the bytes at which decoding stopped. */
  at: number, };

/** A rule of the game that a packet breaks. */
export type Diagnostic = {
  /** Its name, as in `docs/diagnostics.md`. */
  name: string,
  /** A description of the problem. */
  description: string, };

/** The direction in which a packet travels. */
export type Direction = "clientbound" | "serverbound";

/** The form of an export. */
export type ExportFormat = "pcapng" | "jsonl" | "json" | "hex" | "rule" | "command";

/** The packets of an export. */
export type Exported = MarkedPackets | Array<number>;

/** Why a request was not carried out. */
export type Failure = {
  /** The reason. */
  message: string,
  /** Advice on fixing it. */
  hint: string | null,
  /** The offset at which the wrong part of an expression begins, in UTF-16 code units. */
  start: number | null,
  /** The offset at which it ends. */
  end: number | null,
  /** The path of the field of a packet that is wrong: `items[3].itemCount`. */
  path: string | null, };

/** A field of a packet. */
export type Field = {
  /** The number of containers and lists around it. */
  depth: number,
  /** Its name, or its index in brackets. */
  name: string,
  /** Its path: `items[3].itemCount`. */
  path: string,
  /** Its value as text; empty for a container. */
  value: string,
  /** The offset of its first byte. */
  start: number,
  /** The offset after its last byte. */
  end: number,
  /** The meaning of the value, in words. */
  meaning: string | null,
  /** The text that a player reads, if it is a text component. */
  text: Array<TextPiece> | null, };

/** Another value for a field, which a rule sets. */
export type FieldSetting = {
  /** The index of the field among the `fields` of the packet's details. */
  field: number,
  /** The value as a person writes it; an expression after `=`. */
  text: string, };

/** The form in which a person edits the fields of a packet. */
export type Form = {
  /** The fields as JSON, as captures have them. */
  text: string,
  /** Id and fields in hex; `null` if the packet cannot be sent. */
  body: string | null,
  /** Why the packet cannot be sent. */
  problem: FormProblem | null,
  /** A warning that the peer may reject a packet of this kind if it was changed. */
  warning: string | null,
  /** The values, each after the containers that it is in. */
  lines: Array<FormLine>,
  /** `true` if there are more values, which can only be edited as JSON. */
  more: boolean, };

/** A change of a form. */
export type FormChange = { "set": {
  /** The JSON pointer of the value. */
  pointer: string,
  /** The content as JSON. Anything else becomes a text. */
  raw: string, } }
| { "choose": {
  /** The JSON pointer of the object. */
  pointer: string,
  /** The name of the field. */
  name: string, } }
| { "fill": string }
| { "add": string }
| { "remove": string };

/** A value of a form, with what it can hold. */
export type FormLine = {
  /** The name of the field, or the index of the element. */
  name: string,
  /** Its path: `items[3].itemCount`. */
  path: string,
  /** Its JSON pointer: `/items/3/itemCount`. */
  pointer: string,
  /** The number of containers and lists around it. */
  depth: number,
  /** Its kind of JSON. */
  kind: "object" | "list" | "number" | "text" | "bool" | "null",
  /** The number of elements of a list. */
  count: number | null,
  /** `true` if it can be left out, as `null`. */
  optional: boolean,
  /** How the bytes are written that the field has: `base64`; `null` for other fields. */
  encoding: string | null,
/**
 * Its value as JSON; `null` for a list. For an object that is a choice, the name of what is chosen; `null` for
 * others.
 */
raw: string | null,
  /** The least number that it can be. */
  low: string | null,
  /** The greatest number that it can be. */
  high: string | null,
  /** The texts that it can be, or the names that an object has one of. */
  options: Array<string> | null,
  /** The bits that have names, with these. */
  flags: Array<[number, string]> | null,
  /** The numbers that have names, with these. */
  names: Array<[number, string]> | null,
  /** The text that a player reads. */
  text: Array<TextPiece> | null, };

/** Where the packet of a form belongs. */
export type FormPlace = {
  /** Its session. */
  session: number,
  /** Its direction. */
  dir: Direction,
  /** Its state. */
  state: State,
  /** Its name. */
  packet: string,
  /** Its number in the session. */
  resent: number, };

/** Why the packet of a form cannot be sent. */
export type FormProblem = {
  /** The JSON pointer of the value that is wrong; empty for the packet as a whole. */
  pointer: string,
  /** The reason. */
  message: string, };

/** A packet that a search has found. */
export type Found = {
  /** Its row. */
  row: number,
  /** Its index in the list. */
  index: number, };

/** The content of a held packet. */
export type HeldContent = {
  /** Its fields, as captures have them; `null` if it does not decode. */
  fields: unknown,
  /** The fields in a text, because JavaScript loses digits of long numbers. */
  text: string | null,
  /** Why it does not decode. */
  problem: string | null,
  /** Id and fields as base64. */
  body: string, };

/** A decision on several held packets. */
export type HeldDecision = "forward" | "drop";

/** A packet that a session holds, as interfaces list it. */
export type HeldPacket = {
  /** Its session. */
  session: number,
  /** Its number among those held in its session, from 1. */
  held: number,
  /** Its number among all that were held in the run, from 1: in the order in which they came. */
  number: number,
  /** The time since when it is held, in milliseconds since 1970. */
  since: number,
  /** Its direction. */
  dir: Direction,
  /** The state that it belongs to. */
  state: State,
  /** Its name, if its type is known. */
  packet: string | null,
  /** The size of its inflated body. */
  size: number,
  /** Its fields in short. */
  summary: string,
  /** Why later packets wait although they should overtake it. */
  in_order: string | null,
  /** The decision on it that takes effect when its turn comes, if there is one. */
  decided: Decided | null, };

/** Some of the packets that are held, in the order in which they came. */
export type HeldRows = {
  /** The index of the first one. */
  start: number,
  /** The number of all packets that are held. */
  total: number,
  /** The packets. */
  packets: Array<HeldPacket>,
  /** The index of the packet with the number that was asked for, or of the next one after it. */
  anchor: number | null, };

/** The first message to an interface whose token was accepted. */
export type Hello = {
  /** The version of mitmcraft. */
  version: string,
  /** The version of this protocol: [`Hello::PROTOCOL`]. */
  protocol: number,
  /** A text that is another one in each run: rows, sessions and marks are those of a run. */
  run: string,
  /** `true` while a proxy runs; `false` if captures are shown. */
  live: boolean,
  /** The address at which the game reaches a running proxy. */
  listening: string | null,
  /** `true` if sessions can be controlled. */
  control: boolean,
  /** `true` if there are filter files. */
  rules: boolean,
  /** The most bytes of a capture that `open` takes; `null` if none can be opened. */
  opens: number | null,
  /** The actions of the page with their keys, in the order in which people read them; programs have none. */
  actions: Array<ActionInfo>, };

/** A colour, and the packets that have it. */
export type Highlight = {
  /** The colour. */
  color: HighlightColor,
  /** An expression. */
  where: string, };

/** A colour of packets. Interfaces choose shades that can be read. */
export type HighlightColor = "red" | "orange" | "yellow" | "green" | "blue" | "purple" | "gray";

/** The number of packets that are held. */
export type Holding = {
  /** The packets that are held. */
  total: number,
  /** A number that changes when packets were decided on or released, but not when others are held. */
  changes: number,
  /** The `number` of the packet that was held last; 0 if none was. */
  last: number, };

/** The state of one leg. */
export type LegInfo = {
  /** The compression threshold in bytes; `null` without compression. */
  threshold: number | null,
  /** `true` if it is encrypted. */
  encrypted: boolean, };

/** The state of a session and of both its legs. */
export type LegsInfo = {
  /** The state of the packets that follow. */
  state: State,
  /** The leg to the client. */
  client: LegInfo,
  /** The leg to the server. */
  server: LegInfo, };

/** The first message of an interface. */
export type Login = {
  /** The token in the fragment of the printed URL. */
  token: string, };

/** A dimension on a map. */
export type MapDimension = {
  /** The number by which requests name it. */
  number: number,
  /** Its name: `minecraft:overworld`. */
  name: string,
  /** The number of chunks. */
  chunks: number,
/**
 * The tiles with chunks, those that have changed last first: x and z in tiles of 128 × 128 blocks, and a number that
 * is another one once the tile is.
 */
tiles: Array<[number, number, number]>,
/**
 * The last part of the player's path: x and z of the blocks in which it was, in lines that do not touch; `null` if
 * it has not changed.
 */
path: Array<Array<[number, number]>> | null, };

/** A place on a map. */
export type MapPlace = {
  /** The number of the dimension. */
  dimension: number,
  /** The block. */
  x: number,
  /** Its height. */
  y: number | null,
  /** See `x`. */
  z: number, };

/** The word for the packets that people have marked. */
export type MarkedPackets = "marked";

/** A message to an interface. */
export type Message = {
  /** The program. */
  hello: Hello, }
| {
  /** The number of the request. */
  id: number | null, } & ({ "answer": "done", }
| { "answer": "view",
  /** Warnings about the filter. */
  warnings: Array<Warning>,
  /** The number of packets found so far. */
  total: number, }
| { "answer": "check",
  /** Warnings about it. */
  warnings: Array<Warning>, }
| { "answer": "combine",
  /** The new filter. */
  filter: string, }
| { "answer": "complete",
  /** The offset from which on a name replaces the text before the cursor. */
  start: number,
  /** The names, in alphabetical order. */
  names: Array<string>, }
| { "answer": "rows",
  /** The index of the first one in the list. */
  start: number,
  /** The number of packets found so far. */
  total: number,
  /** The rows. */
  rows: Array<Row>, }
| { "answer": "row_numbers",
  /** The rows, in the order of the list. */
  rows: Array<number>, }
| { "answer": "field" } & PickedField | { "answer": "next_mark",
  /** The packet, if there is one. */
  found: Found | null, }
| { "answer": "details",
  /** Its row. */
  row: number,
  /** The packet. */
  packet: PacketDetails, }
| { "answer": "highlight",
  /** The colours, the first of which has precedence. */
  colors: Array<Highlight>,
  /** The file that keeps colours that are saved; `null` if none does. */
  file: string | null, }
| { "answer": "sent",
  /** The index of the first one. */
  start: number,
  /** The number of packets found so far. */
  total: number,
  /** The packets. */
  rows: Array<Row>, }
| { "answer": "replies",
  /** The packets. */
  rows: Array<Row>, }
| { "answer": "find",
  /** The packet, if there is one. */
  found: Found | null,
  /** `true` if not all packets were searched yet. */
  searching: boolean, }
| { "answer": "go_to",
  /** Its row, once it is found. */
  row: number | null,
  /** `true` if not all packets were looked at yet. */
  searching: boolean, }
| { "answer": "index",
  /** The number of packets of the list before it. */
  index: number,
  /** `true` if it is in the list itself, as far as is known. */
  found: boolean, }
| { "answer": "sessions",
  /** The sessions; if nothing else is asked for, the newest, oldest first. */
  sessions: Array<SessionInfo>,
  /** The number of older sessions: those that are no longer listed, and without `start` those before these. */
  left_out: number,
  /** The number of sessions that were searched. */
  total: number,
  /** The number of sessions that only asked for the server's status. */
  pings: number,
  /** The sessions that have ended so far; `null` if none has. */
  mark: SessionMark | null,
  /** The index of the session `anchor` among those that were searched. */
  anchor: number | null,
  /** The session `anchor`, even if `sessions` does not include it. */
  anchored: SessionInfo | null, }
| { "answer": "subscribe",
  /** Warnings about the filter. */
  warnings: Array<Warning>,
  /** The first row whose packet can be pushed. */
  from: number, }
| { "answer": "map_tile",
  /** The picture as PNG, in base64; `null` if no chunk of it is known. */
  png: string | null, }
| { "answer": "map_block",
  /** Its height; `null` if none is. */
  y: number | null,
  /** Its name. */
  name: string | null, }
| { "answer": "conversation",
  /** The index of the first one. */
  start: number,
  /** The number of lines found so far. */
  total: number,
  /** The lines. */
  lines: Array<ChatLine>,
  /** The index of the line of the row that was asked for, or of the next one after it. */
  anchor: number | null, }
| { "answer": "compare",
  /** The fields. */
  fields: Array<ComparedValues>,
  /** The first byte in each packet that differs, and the one after the last. */
  differing: [[number, number], [number, number]], }
| { "answer": "export",
  /** Bytes as base64. */
  piece: string,
  /** `true` if that is all. */
  last: boolean, }
| { "answer": "export_more",
  /** Bytes as base64. */
  piece: string,
  /** `true` if nothing follows. */
  last: boolean, }
| { "answer": "expression",
  /** An expression; `null` if the packet's type is not known. */
  expression: string | null,
  /** A rule as filter files have it. */
  rule: string | null, }
| { "answer": "packets",
  /** The state that they belong to. */
  state: State,
  /** Their names. */
  names: Array<string>, }
| { "answer": "form",
  /** The form. */
  form: Form, }
| { "answer": "form_of",
  /** Where the packet belongs. */
  place: FormPlace,
  /** The form. */
  form: Form, }
| { "answer": "rules",
  /** The files, in the order of their rules. */
  files: Array<RuleFile>,
  /** A text for each that is another one once it has changed. */
  versions: Array<string>,
  /** The results of their rules, by file. */
  counts: Array<Array<RuleResult>>, }
| { "answer": "rule_counts",
  /** The results, by file. */
  counts: Array<Array<RuleResult>>,
  /** A text for each file that is another one once it has changed. */
  versions: Array<string>, }
| { "answer": "check_rules",
  /** Its errors and warnings. */
  faults: Array<RulesFault>, }
| { "answer": "save_rules" } & SavedRules | { "answer": "held" } & HeldContent | { "answer": "held_rows" } & HeldRows | { "answer": "still_held",
  /** Their `number`s. */
  numbers: Array<number>,
  /** The number of those in the spans. */
  count: number, }
| { "answer": "decide",
  /** Their number. */
  decided: number, }) | {
  /** The number of the request, if it could be read. */
  id: number | null,
  /** The reason. */
  error: Failure, } | Push;

/** A packet that belongs to another one. */
export type OtherPacket = {
  /** Its row. */
  row: number,
  /** The relation between the two, for people. */
  text: string, };

/** Everything about one packet. */
export type PacketDetails = {
  /** Its time, as RFC 3339. */
  at: string,
  /** Seconds since its session began. */
  t: number,
  /** Its session. */
  session: number,
  /** Its number in the session. */
  seq: number,
  /** Its direction. */
  dir: Direction,
  /** The state that it belongs to. */
  state: State,
  /** Its id, if it has one. */
  id: number | null,
  /** Its name, if its type is known. */
  name: string | null,
  /** The player of its session. */
  player: string | null,
  /** The name of its version. */
  version: string,
  /** The protocol number of its version. */
  protocol: number | null,
  /** `true` if its version is not known, so that everything decoded is a guess. */
  guess: boolean,
  /** Who made it. */
  origin: string,
  /** The proxy's verdict on it: `pass`, `drop`, `replace` and others. */
  verdict: string,
  /** The number of the packet that it replaces. */
  of: number | null,
  /** The row of the packet that was sent in its place, or in whose place it was sent. */
  counterpart: number | null,
  /** The request that it answers, or its answer. */
  round_trip: OtherPacket | null,
  /** All comments, as captures have them. */
  comment: string | null,
  /** The rules of the game that it breaks. */
  diagnostics: Array<Diagnostic>,
  /** The size of its inflated body. */
  size: number,
  /** Its size on the wire. */
  wire: number,
  /** The state of its session's legs at that time, if known. */
  legs: LegsInfo | null,
  /** Why it does not decode. */
  error: DecodeError | null,
  /** Its fields, up to an error. */
  fields: Array<Field>,
  /** The bytes in which the fields have their places, as base64. */
  bytes: string,
  /** The number of bytes that were left out at the end. */
  left_out: number, };

/** A field of a packet that a person has picked: to filter by it, to list it, or to copy it. */
export type PickedField = {
  /** Its path: `items[3].itemCount`. A tag of NBT has that of the field that it is in. */
  path: string,
  /** Its name as a column of the list: `window_items.items[3].itemCount`. */
  column: string,
  /** An expression that the packet matches, and others with the same value. */
  condition: string,
  /** Its value as text: a component as a player reads it. */
  text: string,
  /** Its value as JSON, as captures have it. */
  json: string,
  /** Its bytes in hex. */
  hex: string, };

/** How many packets were found. */
export type Progress = {
  /** Packets found so far. */
  total: number,
  /** Packets evaluated so far. */
  done: number,
  /** Packets to evaluate. */
  all: number, };

/** A message that was not asked for. */
export type Push = { "push": "state" } & StoreState | { "push": "statistics",
  /** The report, as `mitmcraft stats --json` prints it, with a series for each name in `timeline.names`. */
  report: any, }
| { "push": "explanation",
  /** The session. */
  session: number,
  /** The lines of the explanation, as `mitmcraft explain` prints them. */
  lines: Array<string>, }
| { "push": "chart" } & ChartData | { "push": "map",
  /** The row as of which they are shown; `null` as of now. */
  row: number | null,
  /** The session; `null` if none has chunks. */
  session: number | null,
  /** `true` once all packets were looked at that there are now. */
  complete: boolean,
  /** `false` if the tiles and paths are left out that have not changed since the last push. */
  whole: boolean,
  /** The dimensions of which chunks were sent, in the order in which the player came there. */
  dimensions: Array<MapDimension>,
  /** The place of the player, and the dimension. */
  player: MapPlace | null,
  /** The place that the packet itself names, and the dimension; its height is `null` if it is about a whole chunk. */
  packet: MapPlace | null,
  /** Packets that are not on the map, because there are too many. */
  left_out: number, }
| { "push": "packets",
  /** The packets, each as its line in a JSONL capture, with its `row`. */
  packets: ({ row: number } & Record<string, any>)[],
/**
 * The number of packets before the next push of this kind that cannot be pushed: their bytes are missing, or
 * they were forgotten before they were compared with the filter.
 */
missed: number, }
| { "push": "sessions",
  /** The sessions. A session is pushed before its first packet, and again after its last once it has ended. */
  sessions: Array<SessionInfo>, }
| { "push": "holding" } & Holding | ControlPush;

/**
 * A request of a user interface.
 *
 * Rows are the numbers of packets in the order in which they were recorded, from 0. Times are milliseconds since
 * 1970. Offsets in texts count UTF-16 code units, as JavaScript does.
 */
export type Request = { "do": "view",
  /** An expression; empty for all packets. */
  filter: string,
  /** The sessions; empty for all. */
  sessions?: Array<number>,
  /** The first moment. */
  from?: number | null,
  /** The moment after the last. It counts only together with `from`. */
  to?: number | null,
  /** `true` to leave out packets that were sent in place of others, while nothing is filtered or searched. */
  fold?: boolean, }
| { "do": "check",
  /** The expression. */
  filter: string, }
| { "do": "combine",
  /** An expression; empty for no filter. */
  filter: string,
  /** The condition. */
  condition: ConditionSource,
  /** The way in which it is added. */
  how: Combination, }
| { "do": "complete",
  /** The expression. */
  filter: string,
  /** The offset of the cursor. */
  at: number, }
| { "do": "rows",
  /** The index of the first one in the list. */
  start: number,
  /** The most rows to return, at most 500. */
  count: number,
  /** More columns: names and expressions of the filter language, at most 20. */
  columns?: Array<string>,
/**
 * The number of rows at the end of the list, at most 500, that come with every `state` from now on; as before
 * if absent.
 */
newest?: number | null, }
| { "do": "row_numbers",
  /** The index of the first one in the list. */
  start: number,
  /** The most numbers to return, at most 10,000. */
  count: number, }
| { "do": "sort",
/**
 * `time`, `session`, `number`, `direction`, `state`, `id`, `packet`, `size`, `wire`, `verdict`, or a name or
 * expression of the filter language; absent for the order in which the packets were recorded.
 */
by?: string | null,
  /** `true` for the greatest value first. */
  descending?: boolean, }
| { "do": "field",
  /** The packet's row. */
  row: number,
  /** The index of the field among the `fields` of its details. */
  field: number, }
| { "do": "details",
  /** Its row. */
  row: number, }
| { "do": "search",
  /** The text; empty ends the search. */
  text: string, }
| { "do": "find",
  /** The row after which to look. */
  row: number,
  /** `true` to look before it instead. */
  back: boolean, }
| { "do": "go_to",
  /** A number in a session (`452`), seconds since that began (`12.5 s`), or a time (`14:05`, as RFC 3339). */
  to: string,
  /** The row of the packet whose session and day are meant. */
  row?: number | null,
  /** The minutes by which the person's clock is ahead of UTC; 0 if absent. */
  zone?: number | null, }
| { "do": "index",
  /** Its row. */
  row: number, }
| { "do": "sessions",
/**
 * Words that a session has all of: in its number, names, addresses, version, `open` or its end; empty for all
 * sessions.
 */
text?: string,
  /** The kind of sessions; all if absent. */
  only?: SessionKind | null,
  /** What they are sorted by; their number if absent. */
  by?: SessionOrder | null,
  /** `true` for the greatest value first. */
  descending?: boolean,
  /** Leaves out the sessions that had ended then: the `mark` of an earlier answer. */
  after?: SessionMark | null,
  /** The index of the first one; if absent, the last ones are returned. */
  start?: number | null,
  /** The most sessions to return, at most 1000; 1000 if absent. */
  count?: number | null,
  /** The number of a session that is wanted as well, with its index. */
  anchor?: number | null, }
| { "do": "subscribe",
  /** An expression that the packets match; empty for all packets. */
  filter: string,
/**
 * The first row whose packet can be pushed, 0 for all that are stored; if absent, only packets that come from
 * now on are.
 */
from?: number | null, }
| { "do": "unsubscribe", }
| { "do": "conversation",
  /** The index of the first line. */
  start: number,
  /** The most lines to return, at most 500. */
  count: number,
  /** A text, or bytes such as `0a:1b`, that the packets of the lines have; all if absent. */
  text?: string | null,
  /** The row of a line whose index is wanted. */
  anchor?: number | null, }
| { "do": "explain",
  /** The session. */
  session: number, }
| { "do": "statistics", }
| { "do": "chart",
  /** The expressions, at most 8; both directions if absent. */
  expressions?: Array<string> | null, }
| { "do": "map",
  /** The row as of which the map of its session is wanted; if absent, the map as of now. */
  row?: number | null,
  /** The session, if no row is given; that which came last if absent. */
  session?: number | null, }
| { "do": "map_tile",
  /** The number of the dimension. */
  dimension: number,
  /** The place of the tile, in tiles. */
  x: number,
  /** See `x`. */
  z: number,
  /** The row as of which it is drawn; as of now if absent. */
  row?: number | null, }
| { "do": "map_block",
  /** The number of the dimension. */
  dimension: number,
  /** The place, in blocks. */
  x: number,
  /** See `x`. */
  z: number,
  /** The row as of which it is looked at; as of now if absent. */
  row?: number | null, }
| { "do": "highlight",
  /** The colours, the first of which has precedence; those that there are if absent. */
  colors?: Array<Highlight> | null,
  /** `true` to keep them for all screens and later runs, if a file keeps colours. */
  save?: boolean, }
| { "do": "sent",
  /** The index of the first one. */
  start: number,
  /** The most packets to return, at most 500. */
  count: number, }
| { "do": "replies",
  /** The packet's row. */
  row: number, }
| { "do": "compare",
  /** The row of the first packet. */
  a: number,
  /** The row of the second packet. */
  b: number, }
| { "do": "hide",
  /** Its row. */
  row: number, }
| { "do": "hide_all",
  /** Their rows. */
  rows: Array<number>, }
| { "do": "clear",
  /** Leave out only the packets before this row. */
  before?: number | null, }
| { "do": "show_hidden", }
| { "do": "save", }
| { "do": "annotate",
  /** Its row. */
  row: number,
  /** `true` if it is marked. */
  marked: boolean,
  /** The comment; empty for none. */
  comment: string, }
| { "do": "mark_all",
  /** Their rows, at most 10,000. */
  rows: Array<number>,
  /** `true` if they are marked. */
  marked: boolean, }
| { "do": "next_mark",
  /** The row after which to look. */
  row: number,
  /** `true` to look before it instead. */
  back: boolean, }
| { "do": "export",
  /** The form of the export. */
  format: ExportFormat,
  /** The packets; the list if absent. */
  rows?: Exported | null, }
| { "do": "export_more", }
| { "do": "expression",
  /** Its row. */
  row: number,
  /** The text of the filter file that gets the rule, which has a name of its own there. */
  rules?: string | null,
  /** The field that the rule sets, and its value. If absent, the rule adds a tag to the packets. */
  set?: FieldSetting | null, }
| { "do": "packets",
  /** The session. */
  session: number,
  /** The direction of the packets. */
  dir: Direction,
  /** Their state; that of the session if absent. */
  state?: State | null, }
| { "do": "form",
  /** The session. */
  session: number,
  /** The direction of the packet. */
  dir: Direction,
  /** Its state; that of the session if absent. */
  state?: State | null,
  /** Its name. */
  packet: string,
/**
 * Its fields as JSON, in a text because JavaScript loses digits of long numbers; the simplest fields if
 * absent.
 */
text?: string | null,
  /** Id and fields instead: base64, or hex digits after `0x`. */
  body?: string | null,
  /** A change to make first. */
  change?: FormChange | null, }
| { "do": "form_of",
  /** Its row. */
  row: number, }
| { "do": "open",
  /** The name of its file. */
  name: string,
  /** Its length in bytes. */
  size: number, }
| { "do": "open_more",
  /** At most 1 MiB, in base64. */
  bytes: string, }
| { "do": "rules", }
| { "do": "rule_counts", }
| { "do": "check_rules",
  /** The text. */
  text: string, }
| { "do": "save_rules",
  /** The index of the file in `rules`. */
  file: number,
  /** The text that was read; absent for a file that was deleted, which is created again. */
  base?: string | null,
  /** The new text. */
  text: string, }
| { "do": "break",
  /** An expression; empty holds no more. */
  where: string,
  /** `true` if later packets overtake a held one where the game bears it. */
  overtaken?: boolean, }
| { "do": "held",
  /** The session. */
  session: number,
  /** The packet's number among those held in its session. */
  held: number, }
| { "do": "held_rows",
  /** The index of the first one. */
  start: number,
  /** The most packets to return, at most 500. */
  count: number,
  /** The `number` of a packet whose index is wanted. */
  anchor?: number | null, }
| { "do": "still_held",
  /** The packets' `number`s. */
  numbers?: Array<number>,
  /** The first and last `number` of spans of packets, at most 1000, of which only the count is wanted. */
  spans?: Array<[number, number]>, }
| { "do": "decide",
  /** The session; absent with `spans`. */
  session?: number | null,
  /** The packets' numbers among those held in their session. */
  held?: Array<number>,
/**
 * The first and last `number` of spans of packets, at most 1000. Those that are decided on already are left out,
 * too. The answer is then how many there were, otherwise `done`.
 */
spans?: Array<[number, number]>,
  /** The decision. */
  decision: HeldDecision, }
| { "do": "forward",
  /** The session. */
  session: number,
  /** The packet's number among those held in its session. */
  held: number, }
| { "do": "drop",
  /** The session. */
  session: number,
  /** The packet's number among those held in its session. */
  held: number, }
| { "do": "edit",
  /** The session. */
  session: number,
  /** The packet's number among those held in its session. */
  held: number,
  /** The fields as captures have them, or a text with their JSON. */
  fields?: unknown,
  /** Id and fields: base64, or hex digits after `0x`. */
  body?: string | null, }
| { "do": "forward_all",
  /** The session; all of them if absent. */
  session?: number | null, }
| { "do": "send",
  /** The session. */
  session: number,
  /** The receiver. */
  to: Side,
  /** The packet's name in the version of the session; not needed with a `body`. */
  packet?: string | null,
  /** The fields as captures have them, or a text with their JSON. */
  fields?: unknown,
  /** Id and fields: base64, or hex digits after `0x`. */
  body?: string | null,
  /** How many times; once if absent. */
  times?: number | null,
  /** The time from one to the next, such as `2s`; a tick of 50 ms if absent. */
  interval?: string | null,
  /** The number of the packet of the session that is sent again. */
  resent?: number | null, }
| { "do": "stop",
  /** Its `number`, which the push `sending` has; everything if absent. */
  number?: number | null, }
| { "do": "alive", }
| { "do": "kick",
  /** The session. */
  session: number,
  /** The text that the player reads; `kicked` if absent or empty. */
  text?: string | null, };

/** A packet as a line of the list. */
export type Row = {
  /** Its row. */
  row: number,
  /** Its time in milliseconds since 1970, exact to a microsecond. */
  at: number,
  /** Seconds since its session began. */
  t: number,
  /** Seconds since the row before. */
  delta: number,
  /** Its session. */
  session: number,
  /** Its number in the session. */
  seq: number,
  /** Its direction. */
  dir: Direction,
  /** The state that it belongs to. */
  state: State,
  /** Its name, if its type is known. */
  name: string | null,
  /** Its id; `null` if it has none, or if its bytes are lost. */
  id: number | null,
  /** `true` if its version is not known, so that its name is a guess. */
  guess: boolean,
  /** The size of its inflated body. */
  size: number,
  /** Its size on the wire. */
  wire: number,
  /** The proxy's verdict on it: `pass`, `drop`, `replace` and others. */
  verdict: string,
  /** Who made it. */
  origin: string,
  /** Its fields in short. */
  summary: string,
  /** `true` if a person has marked it. */
  marked: boolean,
  /** The comment of a person. */
  note: string | null,
  /** All comments, as captures have them. */
  comment: string | null,
  /** `true` if it does not decode. */
  error: boolean,
  /** Its colour. */
  color: HighlightColor | null,
  /** The fields in short of the packet that was sent in its place, if the list leaves that out. */
  sent: string | null,
  /** The values of the columns that were asked for; `null` if it has none. */
  columns: Array<string | null>, };

/** A filter file. */
export type RuleFile = {
  /** Its path. */
  path: string,
  /** Its text; `null` if it cannot be read, or is not there yet. */
  text: string | null,
  /** Why it cannot be read; `null` also for a file that is created when it is saved for the first time. */
  error: string | null, };

/** The counts of a rule in all sessions so far. */
export type RuleResult = {
  /** The rule's name. */
  name: string,
  /** Packets for which `when` held. */
  matched: number,
  /** Packets on which all actions were done. */
  acted: number,
  /** Packets on which an action failed, so that none was done. */
  failed: number, };

/** An error or a warning about a user's file, with its place. */
export type RulesFault = {
  /** Its severity. */
  severity: Severity,
  /** A description of the problem. */
  message: string,
  /** The line number, from 1. */
  line: number,
  /** The column in characters, from 1. */
  column: number,
  /** The text of the line, or the part of a long one around the fault. */
  text: string,
  /** The number of marked characters, at least 1. */
  width: number,
  /** Advice on fixing it. */
  hint: string | null, };

/** The outcome of saving a filter file. */
export type SavedRules = { "outcome": "saved", }
| { "outcome": "changed",
  /** Its text now; `null` if it was deleted. */
  text: string | null, }
| { "outcome": "faulty",
  /** The errors, and warnings. */
  faults: Array<RulesFault>, };

/** A packet that is sent repeatedly. */
export type Sending = {
  /** Its number among everything that was sent in the run. */
  number: number,
  /** Its session. */
  session: number,
  /** Its direction. */
  dir: Direction,
  /** Its name; `null` if its bytes were given. */
  packet: string | null,
  /** The number of times that it is to be sent. */
  times: number,
  /** The packets that are still to be sent. */
  left: number,
  /** Milliseconds from one to the next. */
  interval: number,
  /** `true` if no more are sent: all were, or the rest was stopped. */
  over: boolean, };

/** A session. */
export type SessionInfo = {
  /** Its number. */
  session: number,
  /** The capture that it is in, if several are shown. */
  capture: string | null,
  /** The name of the player, once known. */
  player: string | null,
  /** The address of the client. */
  client: string,
  /** The address of the server, once connected. */
  server: string | null,
  /** The server as it was named. */
  upstream: string,
  /** The name of its version. */
  version: string,
  /** The protocol number of its version. */
  protocol: number | null,
  /** `true` if its version is not known, so that everything decoded is a guess. */
  guess: boolean,
  /** The state of its legs, once known. */
  legs: LegsInfo | null,
  /** The number of packets that the peers sent. */
  packets: number,
  /** Their bytes, inflated. */
  bytes: number,
  /** Their bytes on the wire. */
  wire: number,
  /** When it began, in milliseconds since 1970. */
  opened: number,
  /** The time of its last packet or event. */
  last: number,
  /** What its client waits for, or waited for at the end, if it does not get into the world. */
  waits: string | null,
  /** Why it has ended, in words as players read them; `null` while it is open. */
  closed: string | null, };

/** A kind of sessions. */
export type SessionKind = "players" | "open" | "ended" | "pings";

/** A moment in a list of sessions: those that have ended by then. */
export type SessionMark = {
  /** The number of the newest session. */
  session: number,
  /** The time at which a session ended last, in milliseconds since 1970. */
  ended: number, };

/** The order of sessions. */
export type SessionOrder = "number" | "player" | "client" | "packets" | "bytes" | "last";

/** The severity of a fault. */
export type Severity = "error" | "warning";

/** One of the two peers. */
export type Side = "client" | "server";

/** The state of a list that is to be sorted. */
export type Sorting = "busy" | "sorted" | "too_many";

/** The state of a connection, which determines the meaning of packet ids. */
export type State = "handshaking" | "status" | "login" | "configuration" | "play";

/** The state of the stored packets, and of those found. */
export type StoreState = {
  /** The oldest row that is stored. */
  first: number,
  /** The row that the next packet gets. */
  end: number,
  /** The number of packets that were sent in place of others: parts of their rows in a list without filter and search. */
  replacements: number,
  /** `true` if no more packets come. */
  complete: boolean,
  /** The part of the files that was read, from 0 to 1; `null` if none are read. */
  read: number | null,
  /** A number that changes when marks or comments do. */
  noted: number,
  /** Why bytes of packets are missing. */
  fault: string | null,
  /** The number of packets that this interface has hidden. */
  hidden: number,
  /** The number of stored packets that this interface has cleared. */
  cleared: number,
  /** Whether the list is sorted; `null` if it has the order in which its packets were recorded. */
  sorting: Sorting | null,
  /** A number that changes when the order of the list does. */
  order: number,
  /** The outcome of saving marks and comments the last time. */
  saved: string | null,
  /** Why older packets are not stored. */
  limit: string | null,
  /** The list. */
  list: Progress,
  /** The rows at the end of the list, as many as `newest` of `rows` asks for. */
  newest: Array<Row>,
  /** The packets that the search has found, if there is a search. */
  search: Progress | null,
  /** The conversation, once it was asked for. */
  conversation: Progress | null,
  /** The packets that people have sent, once they were asked for. */
  sent: Progress | null, };

/** A piece of a text that a player reads, with uniform formatting. */
export type TextPiece = {
  /** The characters. */
  text: string,
  /** The colour: a hex digit for one of the game's 16, or `#rrggbb`. */
  color: string | null,
  /** The formats: `bold`, `italic`, `underlined`, `strikethrough`, `obfuscated`. */
  formats: Array<string>, };

/** A thing with a context menu. */
export type Thing = "packet" | "field" | "held" | "session";

/** A possible mistake in an expression. */
export type Warning = {
  /** A description of the mistake. */
  message: string,
  /** Advice on fixing it. */
  hint: string | null,
  /** The offset at which the part begins that may be wrong. */
  start: number,
  /** The offset at which it ends. */
  end: number, };

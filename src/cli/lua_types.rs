use clap::Args;
use mitmcraft_engine::script::lua_types;

use super::args::{Protocols, Suggested};
use super::exit::Done;
use super::output::Output;
use super::version;

/// Print annotations with which an editor completes Lua scripts
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mitmcraft lua-types 1.21.4 > mitmcraft.lua
  mitmcraft lua-types > mitmcraft.lua

The annotations describe the functions of scripts and the fields of a version's packets. Put the file beside your scripts. The Lua language server (LuaLS) of VS Code, Neovim and others reads \
it. `---@param packet PlayServerboundChat` names the type of a callback's packet.")]
pub(crate) struct Arguments {
    /// The version whose packets scripts read, such as `47`, `1.8.9` or `latest`
    #[arg(default_value = "latest", value_parser = Suggested::new(version::names), hide_possible_values = true)]
    version: String,

    #[command(flatten)]
    protocols: Protocols,
}

pub(crate) fn run(arguments: &Arguments, output: &Output) -> anyhow::Result<Done> {
    let protocol = version::find(&arguments.protocols.catalog()?, &arguments.version)?;
    output.lines(lua_types(&protocol).trim_end())?;
    Ok(Done::Yes)
}

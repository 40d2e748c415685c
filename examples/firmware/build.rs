//! Chooses the board by the target: which memory the linker lays out, and what the source knows as `cfg(board)`.

use std::error::Error;
use std::path::PathBuf;
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let (board, memory) = match env::var("TARGET")?.as_str() {
        "thumbv6m-none-eabi" => ("microbit", [("FLASH", 0, "256K"), ("RAM", 0x2000_0000, "16K")]),
        "thumbv7em-none-eabihf" => ("mps2", [("FLASH", 0, "4M"), ("RAM", 0x2000_0000, "4M")]),
        other => return Err(format!("no board for {other}: use one of the targets in run.sh").into()),
    };
    let regions =
        memory.map(|(name, origin, length)| format!("{name} : ORIGIN = {origin:#x}, LENGTH = {length}\n"));
    let out = PathBuf::from(env::var("OUT_DIR")?);
    fs::write(out.join("memory.x"), format!("MEMORY {{\n{}}}\n", regions.concat()))?;
    println!("cargo:rustc-link-search={}", out.display());
    println!("cargo:rustc-cfg=board=\"{board}\"");
    println!("cargo:rerun-if-changed=build.rs");
    Ok(())
}

//! Interrupts a decision after the first step of it, then after the second, and so on until it ends undisturbed.
//!
//! The interrupt checks the same caller and another one. Whatever it interrupts, both get their answers, and exactly the
//! limit passes. A step is an atomic operation where they can be counted (the feature `counted`), else a cycle.

#![no_std]
#![no_main]

#[cfg(feature = "counted")]
#[path = "counted.rs"]
mod trigger;
#[cfg(not(feature = "counted"))]
#[path = "timed.rs"]
mod trigger;

mod intruder;
mod stage;
mod stories;

use cortex_m::Peripherals;
use cortex_m_rt::entry;
use cortex_m_semihosting::hprintln;

use crate::stage::{FIXED, LIMIT, NAMES, SAME, STRANGER, Stage, admitted};
use crate::stories::{STORIES, Story};
use crate::trigger::{QUIET_STEPS, STEP, Trigger};

#[entry]
fn main() -> ! {
    let mut trigger = Trigger::new(Peripherals::take().expect("this is the first taker").SYST);
    let mut stage = Stage { gate: FIXED, round: 0, late: 0 };
    let mut missed = 0;
    for story in &STORIES {
        for &gate in story.gates {
            stage.gate = gate;
            let claims = tell(story, &mut stage, &mut trigger);
            missed += u32::from(story.inserts && claims == 0);
        }
    }
    let withdrawn = Stage { gate: FIXED, ..stage }.limiter().counts().withdrawn;
    hprintln!("interrupted: {} claims were withdrawn", withdrawn);
    assert_eq!(missed, 0, "stories in which no claim was met, so that they prove nothing");
    assert!(withdrawn > 0, "no claim had to be withdrawn, so there were never two");
    hprintln!("interrupted: {} bytes of the stack were used", firmware::stack_used());
    firmware::succeed()
}

/// Tells a story once for each step at which it can be interrupted; how often in the middle of an insertion.
fn tell(story: &Story, stage: &mut Stage, trigger: &mut Trigger) -> u32 {
    let (mut interrupted, mut claims, mut same, mut lost, mut quiet) = (0_u32, 0_u32, 0_u32, 0_u32, 0);
    for steps in 1.. {
        stage.round += 1;
        stage.late = u32::try_from(story.late.0).unwrap_or(u32::MAX);
        stage.clean();
        let before = (story.prepare)(stage);
        let progress = stage.progress();

        intruder::begin(stage);
        trigger.arm(steps);
        let decided = (story.decide)(stage);
        trigger.disarm();
        let report = intruder::end();

        let (gate, now) = (stage.limiter(), stage.late());
        let rest = |key| (0..2 * LIMIT).map(|_| admitted(gate, key, now)).sum::<u32>();
        let all = (before + decided + report.same + rest(SAME), report.stranger + rest(STRANGER));
        assert_eq!(
            all, story.pass,
            "admitted in all to the same caller and to the other, {}, {}, after {steps} steps: {report:?}",
            story.name, NAMES[stage.gate as usize],
        );

        if report.came {
            interrupted += 1;
            claims += u32::from(story.inserts && report.progress == progress + 1);
            same += report.same;
            lost += u32::from(decided == 0);
            quiet = 0;
        } else {
            quiet += 1;
            if quiet == QUIET_STEPS {
                break;
            }
        }
    }
    assert!(interrupted > 0 && same > 0, "{}: {interrupted} interrupts, {same} of them admitted", story.name);
    hprintln!(
        "interrupted: {}, {}: after each of {} {}s; {} times a claim stood, {} times the decision lost",
        story.name,
        NAMES[stage.gate as usize],
        interrupted,
        STEP,
        claims,
        lost
    );
    claims
}

//! The first half: the branches are landed by a script of twelve lines that takes a lock.

use super::Trouble;
use super::audit::Final;
use super::ground::{
    CACHE, DISCOUNT, GIFT_CARDS, Ground, REFUNDS, RENAME, RETRIES, STOCK, VAT, executable, write,
};
use super::incident::{Finding, Half};
use super::programs::Running;
use super::{PERSON, seconds};
use std::path::Path;
use std::time::Instant;

/// The script, as it is printed and as it is run.
pub(super) const SCRIPT: &str = include_str!("land.sh");

/// How the worktrees, which stand beside it, call the script.
const LAND: &str = "../land";

/// The half.
pub(super) struct ByFlock<'a> {
    ground: &'a Ground<'a>,
    by_hand: String,
}

impl<'a> ByFlock<'a> {
    /// Puts the script where the worktrees find it.
    pub(super) fn new(ground: &'a Ground<'a>) -> Result<Self, Trouble> {
        executable(&ground.dir().join("land"), SCRIPT)?;
        Ok(Self { ground, by_hand: String::new() })
    }

    fn start(&self, branch: &str, args: &[&str], hold: Option<&Path>) -> Result<Running<'a>, Trouble> {
        self.ground.programs.start(&self.ground.worktree(branch), LAND, args, hold)
    }

    fn number(&self, told: &mut dyn FnMut(&str)) -> Result<Finding, Trouble> {
        let takers = [CACHE, RETRIES].map(|branch| self.start(branch, &["next"], None));
        let mut numbers = Vec::new();
        for (taker, branch) in takers.into_iter().zip([CACHE, RETRIES]) {
            let (_, lines) = taker?.end()?;
            let number: u32 = lines.first().and_then(|line| line.parse().ok()).unwrap_or_default();
            let file = format!("docs/adr/{number:04}-{}.md", branch.trim_start_matches("adr-"));
            write(&self.ground.worktree(branch).join(file), &format!("# {number} {branch}\n"))?;
            self.ground.commit(&self.ground.worktree(branch), branch)?;
            numbers.push(format!("{number:04}"));
        }
        told(&format!("{CACHE} asks `land next` and gets {}; {RETRIES} gets {}.", numbers[0], numbers[1]));
        told("Each writes its decision record under that number. Both run `land`.");
        for lander in [CACHE, RETRIES].map(|branch| self.start(branch, &[], None)) {
            lander?.end()?;
        }
        let doubles = self.ground.doubles()?;
        Ok(match doubles.first() {
            Some(number) => Finding::new(false, format!("both got {number}; main has it twice")),
            None => Finding::new(true, format!("{} and {}", numbers[0], numbers[1])),
        })
    }

    fn stopped(&self, told: &mut dyn FnMut(&str)) -> Result<Finding, Trouble> {
        let ground = self.ground;
        ground.slow_remote()?;
        let holder = self.start(GIFT_CARDS, &[], None)?;
        ground.push_arrived()?;
        holder.freeze();
        ground.quick_remote()?;
        told(&format!("{GIFT_CARDS} has the lock and is stopped. {STOCK} runs `land` and waits."));
        let began = Instant::now();
        let mut waiter = self.start(STOCK, &[], None)?;
        let in_time = ground.programs.wait(PERSON, || waiter.ended())?;
        let waited = seconds(began.elapsed());
        if !in_time {
            told(&format!("After {waited} a person looks why nothing lands, and resumes it."));
        }
        holder.thaw();
        holder.end()?;
        waiter.end()?;
        Ok(if in_time {
            Finding::new(true, format!("the next landed after {waited}"))
        } else {
            Finding::new(false, format!("the next waited {waited}, until a person resumed the holder"))
        })
    }

    fn killed(&self, told: &mut dyn FnMut(&str)) -> Result<Finding, Trouble> {
        let ground = self.ground;
        let before = ground.standing(REFUNDS)?;
        ground.slow_remote()?;
        let mut holder = self.start(REFUNDS, &[], None)?;
        ground.push_arrived()?;
        holder.kill();
        ground.quick_remote()?;
        told(&format!("{REFUNDS} is killed with all that it started, while its push is at the remote."));
        let untouched = ground.standing(REFUNDS)? == before;
        let landed = ground.landed(REFUNDS)?;
        Ok(match (landed, untouched) {
            (0, true) => Finding::new(true, "not landed; the branch is as it was"),
            (0, false) => Finding::new(false, "not landed; the branch is left with a merge of main in it"),
            _ => Finding::new(false, "landed, though its client is dead and nobody was told"),
        })
    }

    fn outside(&mut self, told: &mut dyn FnMut(&str)) -> Result<Finding, Trouble> {
        let ground = self.ground;
        let hold = ground.hold()?;
        let mut lander = self.start(REFUNDS, &[], Some(hold.path()))?;
        hold.reached(&mut lander)?;
        self.by_hand = ground.push_past()?;
        told(&format!("{REFUNDS} (killed before) runs `land` again. During its tests main moves."));
        hold.open()?;
        let (code, _) = lander.end()?;
        let kept = ground.has(&self.by_hand)?;
        Ok(match (code, kept, ground.was_checked()?) {
            (0, true, true) => Finding::new(true, "tested with it, then landed"),
            (0, true, false) => Finding::new(false, "landed; what main is now was never tested"),
            (0, false, _) => Finding::new(false, "landed, and the commit pushed by hand is lost"),
            _ => Finding::new(false, "did not land"),
        })
    }

    fn red(&self, told: &mut dyn FnMut(&str)) -> Result<Finding, Trouble> {
        told(&format!("{RENAME} renames a function, {DISCOUNT} calls it. Both run `land`."));
        let mut green = 0;
        for lander in [RENAME, DISCOUNT].map(|branch| self.start(branch, &[], None)) {
            green += usize::from(lander?.end()?.0 == 0);
        }
        Ok(match (self.ground.red()?, green) {
            (true, _) => Finding::new(false, "both landed; tests fail on main"),
            (false, 2) => Finding::new(true, "both landed"),
            (false, _) => Finding::new(true, "one was refused, main is green"),
        })
    }

    fn conflict(&self, told: &mut dyn FnMut(&str)) -> Result<Finding, Trouble> {
        let ground = self.ground;
        let before = ground.standing(VAT)?;
        told(&format!("{VAT} runs `land`."));
        self.start(VAT, &[], None)?.end()?;
        let untouched = ground.standing(VAT)? == before;
        told("Refused. Its owner merges main by hand, solves it, and runs `land` again.");
        ground.mend(VAT, "lib/vat.sh", "vat=20\n")?;
        let (code, _) = self.start(VAT, &[], None)?.end()?;
        Ok(match (untouched, code) {
            (true, 0) => Finding::new(true, "refused; once solved it landed"),
            (true, _) => Finding::new(false, "refused; once solved it cannot land, since main is red"),
            (false, _) => Finding::new(false, "refused; the worktree is left half merged"),
        })
    }
}

impl Half for ByFlock<'_> {
    fn incident(&mut self, name: &str, told: &mut dyn FnMut(&str)) -> Result<Finding, Trouble> {
        match name {
            "number" => self.number(told),
            "stopped" => self.stopped(told),
            "killed" => self.killed(told),
            "outside" => self.outside(told),
            "red" => self.red(told),
            _ => self.conflict(told),
        }
    }

    fn finally(&mut self) -> Result<Final, Trouble> {
        self.ground.finally(&self.by_hand)
    }
}

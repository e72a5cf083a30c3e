//! The second half: the same branches and the same incidents with this very program.

use super::Trouble;
use super::audit::Final;
use super::ground::{CACHE, DISCOUNT, GIFT_CARDS, Ground, REFUNDS, RENAME, RETRIES, STOCK, VAT};
use super::incident::{Finding, Half};
use super::programs::Running;
use super::seconds;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// How long a silent ticket lives here, in milliseconds. As shipped it is five minutes.
const LEASE_MS: &str = "2000";

/// The half.
pub(super) struct BySignalbox<'a> {
    ground: &'a Ground<'a>,
    program: PathBuf,
    by_hand: String,
}

/// How a `signalbox` ended.
struct Done {
    code: i32,
    objects: Vec<Value>,
}

impl Done {
    /// What the outcome says under that name.
    fn says(&self, name: &str) -> &str {
        self.objects.last().and_then(|end| end[name].as_str()).unwrap_or("nothing")
    }
}

impl<'a> BySignalbox<'a> {
    /// Sets the repository up.
    pub(super) fn new(ground: &'a Ground<'a>, told: &mut dyn FnMut(&str)) -> Result<Self, Trouble> {
        let program = std::env::current_exe()?;
        let half = Self { ground, program, by_hand: String::new() };
        told("$ signalbox init --lease-ms 2000 --check 'sh ./check' \\");
        told("                 --line 'adr=docs/adr/{number:04}-{slug}.md'");
        told("A turn whose holder is not heard of for 2 s passes on. As shipped that takes five minutes.");
        let shop = ground.shop();
        let line = "adr=docs/adr/{number:04}-{slug}.md";
        let args = ["init", "--check", "sh ./check", "--line", line, "--lease-ms", LEASE_MS];
        let done = half.run_in(&shop, &args)?;
        if done.code != 0 {
            return Err(Trouble::Failed(format!("signalbox init: {}", done.says("detail"))));
        }
        Ok(half)
    }

    fn start_in(&self, dir: &Path, args: &[&str], hold: Option<&Path>) -> Result<Running<'a>, Trouble> {
        let args: Vec<&str> = args.iter().copied().chain(["--json"]).collect();
        self.ground.programs.start(dir, &self.program, &args, hold)
    }

    fn run_in(&self, dir: &Path, args: &[&str]) -> Result<Done, Trouble> {
        done(self.start_in(dir, args, None)?)
    }

    fn land(&self, branch: &str, hold: Option<&Path>) -> Result<Running<'a>, Trouble> {
        self.start_in(&self.ground.worktree(branch), &["land"], hold)
    }

    /// Lands a branch that must land.
    fn landed(&self, branch: &str) -> Result<bool, Trouble> {
        Ok(done(self.land(branch, None)?)?.says("code") == "landed")
    }

    /// Waits until one says that it is that far.
    fn says(&self, lander: &mut Running<'_>, event: &str) -> Result<(), Trouble> {
        self.ground.programs.until(event, || {
            let said = lander.lines().iter().any(|line| json(line)["event"] == event);
            if !said && lander.ended()? {
                let last = lander.lines().last().map(|line| json(line)["detail"].to_string());
                return Err(Trouble::Failed(format!("signalbox ended before its {event}: {last:?}")));
            }
            Ok(said)
        })
    }

    fn number(&self, told: &mut dyn FnMut(&str)) -> Result<Finding, Trouble> {
        let ground = self.ground;
        let takers = [CACHE, RETRIES].map(|branch| {
            let title = branch.trim_start_matches("adr-");
            self.start_in(&ground.worktree(branch), &["new", "adr", title], None)
        });
        let mut numbers = Vec::new();
        for (taker, branch) in takers.into_iter().zip([CACHE, RETRIES]) {
            let done = done(taker?)?;
            let number = done.objects.last().and_then(|end| end["number"].as_u64()).unwrap_or_default();
            ground.commit(&ground.worktree(branch), branch)?;
            numbers.push(format!("{number:04}"));
        }
        told(&format!(
            "{CACHE} asks `signalbox new adr` and gets {}; {RETRIES} gets {}.",
            numbers[0], numbers[1]
        ));
        told("Both run `signalbox land`.");
        let mut landed = true;
        for lander in [CACHE, RETRIES].map(|branch| self.land(branch, None)) {
            landed &= done(lander?)?.code == 0;
        }
        let doubles = ground.doubles()?;
        Ok(if landed && doubles.is_empty() && numbers[0] != numbers[1] {
            numbers.sort();
            Finding::new(true, format!("{} and {}", numbers[0], numbers[1]))
        } else {
            Finding::new(false, format!("they got {}; landed: {landed}", numbers.join(" and ")))
        })
    }

    fn stopped(&self, told: &mut dyn FnMut(&str)) -> Result<Finding, Trouble> {
        let ground = self.ground;
        let hold = ground.hold()?;
        let mut holder = self.land(GIFT_CARDS, Some(hold.path()))?;
        hold.reached(&mut holder)?;
        holder.freeze();
        hold.open()?;
        told(&format!("{GIFT_CARDS} has the turn and is stopped. {STOCK} runs `signalbox land`."));
        let began = Instant::now();
        let mut waiter = self.land(STOCK, None)?;
        // Nobody resumes the holder until the other one has landed; `until` ends the demo if it never does.
        ground.programs.until("the landing behind a stopped holder", || waiter.ended())?;
        let took = began.elapsed();
        let passed = waiter.end()?.0 == 0;
        told(&format!("After {} {STOCK} has landed. Now {GIFT_CARDS} is resumed.", seconds(took)));
        holder.thaw();
        holder.end()?;
        let once = ground.landed(GIFT_CARDS)? == 1 && ground.landed(STOCK)? == 1;
        Ok(if passed && once {
            let took = seconds(took);
            Finding::new(true, format!("the next landed after {took}, the stopped one later; once each"))
        } else {
            Finding::new(false, format!("the next ended after {}; each landed once: {once}", seconds(took)))
        })
    }

    fn killed(&self, told: &mut dyn FnMut(&str)) -> Result<Finding, Trouble> {
        let ground = self.ground;
        let before = ground.standing(REFUNDS)?;
        let hold = ground.hold()?;
        let mut holder = self.land(REFUNDS, Some(hold.path()))?;
        hold.reached(&mut holder)?;
        // What arrives at the remote from here on is the landing.
        ground.slow_remote()?;
        hold.open()?;
        ground.push_arrived()?;
        holder.kill();
        ground.quick_remote()?;
        told(&format!("{REFUNDS} is killed with all that it started, while its push is at the remote."));
        let untouched = ground.standing(REFUNDS)? == before;
        let settled = self.run_in(&ground.worktree(REFUNDS), &["land", "--settle"])?;
        told(&format!("`signalbox land --settle` says: {}", settled.says("detail")));
        let told_landed = settled.objects.iter().find_map(|object| object["landed"].as_bool());
        let landed = ground.landed(REFUNDS)?;
        Ok(match (told_landed, landed) {
            (Some(false), 0) if untouched => {
                Finding::new(true, "not landed, and says so; the branch is as it was")
            }
            (Some(true), 1) if untouched => {
                Finding::new(true, "landed, and says so; the branch is as it was")
            }
            _ => {
                let text = format!("landed {landed} times, it says {told_landed:?}, untouched: {untouched}");
                Finding::new(false, text)
            }
        })
    }

    fn outside(&mut self, told: &mut dyn FnMut(&str)) -> Result<Finding, Trouble> {
        let ground = self.ground;
        let hold = ground.hold()?;
        let mut lander = self.land(REFUNDS, Some(hold.path()))?;
        hold.reached(&mut lander)?;
        self.by_hand = ground.push_past()?;
        told(&format!("{REFUNDS} (killed before) runs `signalbox land` again. During its tests main moves."));
        hold.open()?;
        let done = done(lander)?;
        let kept = ground.has(&self.by_hand)?;
        let checked = ground.was_checked()?;
        Ok(if done.code == 0 && kept && checked {
            Finding::new(true, "merged, tested again, landed")
        } else {
            let text = format!("{}; pushed by hand kept: {kept}, main tested: {checked}", done.says("code"));
            Finding::new(false, text)
        })
    }

    fn red(&self, told: &mut dyn FnMut(&str)) -> Result<Finding, Trouble> {
        let ground = self.ground;
        told(&format!("{RENAME} renames a function, {DISCOUNT} calls it. Both run `signalbox land`."));
        let mut first = self.land(RENAME, None)?;
        self.says(&mut first, "turn")?;
        let second = self.land(DISCOUNT, None)?;
        let first = done(first)?;
        let second = done(second)?;
        told(&format!("{DISCOUNT} is refused, exit {}:", second.code));
        told(&format!("  {}", second.says("detail")));
        let red = ground.red()?;
        told("Its owner takes in main, mends the call, and lands again.");
        ground.mend(DISCOUNT, "features/discount.sh", ". lib/price.sh\nsum 2 2\n")?;
        let mended = self.landed(DISCOUNT)?;
        Ok(if first.code == 0 && second.code == 10 && !red && mended {
            Finding::new(true, "the second was refused; once mended it landed")
        } else {
            let codes = format!("{} and {}", first.says("code"), second.says("code"));
            Finding::new(false, format!("{codes}; main red: {red}; landed once mended: {mended}"))
        })
    }

    fn conflict(&self, told: &mut dyn FnMut(&str)) -> Result<Finding, Trouble> {
        let ground = self.ground;
        let before = ground.standing(VAT)?;
        told(&format!("{VAT} runs `signalbox land`."));
        let refused = done(self.land(VAT, None)?)?;
        let untouched = ground.standing(VAT)? == before;
        told(&format!("Refused, exit {}:", refused.code));
        told(&format!("  {}", refused.says("detail")));
        told("Its owner merges main by hand, solves it, and lands again.");
        ground.mend(VAT, "lib/vat.sh", "vat=20\n")?;
        let mended = self.landed(VAT)?;
        Ok(if refused.says("code") == "conflict" && untouched && mended {
            Finding::new(true, "refused; once solved it landed")
        } else {
            let code = refused.says("code");
            Finding::new(false, format!("{code}; untouched: {untouched}; landed once solved: {mended}"))
        })
    }
}

/// Waits for its end.
fn done(running: Running<'_>) -> Result<Done, Trouble> {
    let (code, lines) = running.end()?;
    Ok(Done { code, objects: lines.iter().map(|line| json(line)).collect() })
}

fn json(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or_default()
}

impl Half for BySignalbox<'_> {
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

//! Children that run beside each other.

use pretty_assertions::assert_eq;

use super::*;

fn scripts<const N: usize>(scripts: [(&str, Vec<Turn>); N]) -> Arc<Nursery> {
    let scripts = scripts.map(|(name, script)| (name.to_owned(), script)).into();
    Arc::new(Nursery { scripts: Mutex::new(scripts), ..Nursery::default() })
}

fn answers(reply: &Reply, times: usize) -> Vec<Turn> {
    (0..times).map(|_| Turn::Answer(Ok(reply.clone()))).collect()
}

/// KERN-30: children that run together share what is left, whatever reads beside them.
#[tokio::test]
async fn children_together_spend_no_more_than_their_parent_may() {
    let looks = calls([("r", "echo", "{}")]);
    let types = ["explore", "ann", "bob"];
    let nursery = scripts(types.map(|name| (name, answers(&looks, 9))));
    let roles = ["ann", "bob"].map(|name| Role::new(name, "Looks.", "You look."));
    let mut subagents = subagents(&nursery, &[echo()]).registered(roles, None);
    subagents.settings.limits.max_turns = 9;
    let mut children: Vec<_> = types.iter().map(|name| spawn("c", name)).collect();
    children.extend((0..5).map(|_| ("r", "echo", "{}".to_owned())));
    let limits = Limits { max_turns: 9, budget_tokens: Some(11 + 99) };
    let parents = Settings { limits, ..settings() };
    let (outcome, _) = parent_of(subagents, vec![echo()], &children, parents).await;
    // A third of 99 tokens each, and 11 for each reply: three replies, and no fourth.
    assert_eq!(nursery.asked().len(), 9);
    assert_eq!(outcome.usage.total(), 11 + 99);
    assert!(matches!(outcome.stop, Stop::Budget { .. }), "{:?}", outcome.stop);
}

/// KERN-26: one that hangs takes nothing from those that have ended.
#[tokio::test]
async fn a_child_that_hangs_ends_with_the_step_and_its_sibling_keeps_its_answer() {
    let hangs = vec![Turn::Silence(|_| ())];
    let nursery = scripts([("explore", hangs), ("ann", answers(&says("it is blue"), 1))]);
    let ann = Role::new("ann", "Looks.", "You look.");
    let subagents = subagents(&nursery, &[]).registered([ann], None);
    let (_, _, hanging) = spawn("c1", "explore");
    let (_, _, ending) = spawn("c2", "ann");
    let mut host = ScriptedHost::replies([calls([("c1", NAME, &hanging), ("c2", NAME, &ending)])]);
    let control = host.control.clone();
    let mut run = run_with(settings(), vec![Arc::new(subagents.tool())]);
    let both_asked = async {
        while nursery.asked().len() < 2 {
            tokio::task::yield_now().await;
        }
        tokio::task::yield_now().await; // the reply is taken before the signal
        control.interrupt();
    };
    let (outcome, ()) = tokio::join!(driven(&mut run, &mut host), both_asked);
    assert_eq!(outcome.stop, Stop::Interrupted);
    let settled = results(&outcome);
    assert!(matches!(settled[0], Settled::Unknown { .. }), "{settled:?}");
    assert_eq!(settled[1], Settled::output("it is blue"));
    assert_eq!(outcome.usage.total(), 22);
}

#[tokio::test]
async fn children_of_one_turn_run_together_and_no_more_than_eight() {
    let nursery = Arc::new(Nursery::default());
    let ids = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"];
    let children = ids.map(|id| spawn(id, "explore"));
    let (outcome, _) = parent_of(subagents(&nursery, &[]), vec![], &children, settings()).await;
    assert_eq!(results(&outcome), vec![Settled::output("done"); 12]);
    assert_eq!(nursery.most_at_once.load(Ordering::SeqCst), 8);
}

/// Children of one outage come back spread out.
#[tokio::test]
async fn each_child_waits_in_its_own_time() {
    let nursery = Arc::new(Nursery::default());
    let outage = || vec![Turn::Answer(Err(error(ErrorKind::Server)))];
    nursery.scripts.lock().unwrap().insert("explore".to_owned(), outage());
    nursery.scripts.lock().unwrap().insert("ann".to_owned(), outage());
    let ann = Role::new("ann", "Knows the ledgers.", "You are Ann.");
    let subagents = subagents(&nursery, &[]).registered([ann], None);
    let children = [spawn("c1", "explore"), spawn("c2", "ann")];
    parent_of(subagents, vec![], &children, settings()).await;
    let retries: Vec<_> = nursery.asked().iter().filter_map(|call| call.not_before).collect();
    assert!(retries.len() == 2 && retries[0] != retries[1], "{retries:?}");
}

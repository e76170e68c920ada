//! Requests and limits of a container, completed by defaults of policies. Defaults never contradict the author, nor raise a
//! request above a limit.

use orchestra_api::plan::Amounts;
use orchestra_score::{Pointer, model, quantity::Quantity};

use super::{
    Compute, Overridden, Setting, Source,
    amount::{Measure, Pair},
    defaults::choose,
    reading::InForce,
    wording::code,
};

/// Value of an omitted limit.
const NONE: &str = "none";

/// Effective requests and limits of a container, with their sources.
pub(super) fn fill(
    policies: &[&InForce<'_>],
    container: &str,
    author: Option<&model::Compute>,
) -> (Compute, Vec<Setting>) {
    let written = Compute {
        requests: copy(author.and_then(|author| author.requests.as_ref())),
        limits: copy(author.and_then(|author| author.limits.as_ref())),
    };
    let mut filled = written.clone();
    let mut settings = Vec::new();
    for measure in Measure::ALL {
        let limit = limit(policies, container, measure, &written);
        if let Some(limit) = limit.as_ref().filter(|limit| limit.value != NONE) {
            *measure.field(&mut filled.limits) = Some(limit.value.clone());
        }
        let request = request(policies, container, measure, &written, measure.text(&filled.limits));
        if let Some(request) = &request {
            *measure.field(&mut filled.requests) = Some(request.value.clone());
        }
        settings.extend(limit.into_iter().chain(request));
    }
    (filled, settings)
}

/// Limit: the author's, or a default that is not below the author's request.
fn limit(policies: &[&InForce<'_>], container: &str, measure: Measure, written: &Compute) -> Option<Setting> {
    let field = pointer(container, "limits", measure);
    let author = measure.text(&written.limits).map(|limit| (Source::Author, limit));
    let setting = choose(&field, author, offers(policies, measure, |policy| &policy.limits))?;
    let request = measure.text(&written.requests);
    let (Source::Policy(policy), Some(request)) = (&setting.source, request) else { return Some(setting) };
    if quantity(measure, &setting.value) >= quantity(measure, request) {
        return Some(setting);
    }
    let first = Overridden { policy: policy.clone(), value: setting.value.clone() };
    let note = format!(
        "the default {} of policy {} is below the request {} of the author and is ignored",
        code(&setting.value),
        code(policy),
        code(request)
    );
    Some(Setting {
        field: setting.field,
        value: NONE.to_owned(),
        source: Source::Author,
        overridden: std::iter::once(first).chain(setting.overridden).collect(),
        note: Some(note),
    })
}

/// Request: the author's, or a default, at most the limit.
fn request(
    policies: &[&InForce<'_>],
    container: &str,
    measure: Measure,
    written: &Compute,
    limit: Option<&str>,
) -> Option<Setting> {
    let field = pointer(container, "requests", measure);
    let author = measure.text(&written.requests).map(|request| (Source::Author, request));
    let mut setting = choose(&field, author, offers(policies, measure, |policy| &policy.requests))?;
    if let (Source::Policy(policy), Some(limit)) = (&setting.source, limit)
        && quantity(measure, &setting.value) > quantity(measure, limit)
    {
        setting.note = Some(format!(
            "the default {} of policy {} is above the limit and is lowered to it",
            code(&setting.value),
            code(policy)
        ));
        setting.value = limit.to_owned();
    }
    Some(setting)
}

fn offers<'p>(
    policies: &'p [&InForce<'_>],
    measure: Measure,
    of: impl for<'a> Fn(&'a InForce<'_>) -> &'a Pair,
) -> impl Iterator<Item = (&'p str, &'p str)> {
    policies.iter().filter_map(move |policy| Some((policy.name, of(policy).get(measure)?.text.as_str())))
}

/// Pointer to an amount of a container.
pub(super) fn pointer(container: &str, part: &str, measure: Measure) -> Pointer {
    Pointer::of(["containers", container, "resources", part, measure.name()])
}

/// Amounts of valid documents and of policies in force always parse.
fn quantity(measure: Measure, text: &str) -> Option<Quantity> {
    measure.read(text).ok()
}

fn copy(amounts: Option<&model::Amounts>) -> Amounts {
    amounts.map_or_else(Amounts::default, |amounts| Amounts {
        cpu: amounts.cpu.clone(),
        memory: amounts.memory.clone(),
    })
}

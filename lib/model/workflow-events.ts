/**
 * Events in the history of an execution, counted from the definition of the workflow.
 * https://docs.aws.amazon.com/step-functions/latest/apireference/API_HistoryEvent.html
 */

/** Maximum events of an execution. https://docs.aws.amazon.com/step-functions/latest/dg/service-quotas.html */
export const MAX_EVENTS = 25_000

/**
 * Events of one visit of a state. Each state is entered and exited, but `Fail` is only entered. A task also schedules, starts and ends its
 * function. A map starts and succeeds.
 */
export const EVENTS: Readonly<Record<string, number>> = { Task: 5, Choice: 2, Wait: 2, Succeed: 2, Map: 4, Fail: 1 }
/** Events of an execution, and of each iteration of a map: started, and succeeded or failed. */
export const EVENTS_AROUND = 2
/** Events of each further attempt of a task: scheduled, started, and succeeded or failed. */
export const EVENTS_OF_RETRY = 3

type State = { readonly Type: string; readonly ItemProcessor?: Machine }
type Machine = { readonly States: Readonly<Record<string, State>> }

export type WorkflowUse = { readonly events: number; readonly transitions: number }

/**
 * Returns the events and transitions of an execution without failures. `visits`: how often each state is visited; states without a number
 * are not visited. `iterations`: of all maps together. Throws RangeError if the workflow lacks a state.
 */
export function workflowUseOf(workflow: object, visits: Readonly<Record<string, number>>, iterations: number): WorkflowUse {
  const types = stateTypesIn(workflow as Machine)
  let [events, transitions] = [EVENTS_AROUND * (1 + iterations), 0]
  for (const [name, count] of Object.entries(visits)) {
    const each = EVENTS[types.get(name) ?? '']
    if (each === undefined) throw new RangeError(`the workflow has no state ${name} whose events are known`)
    events += count * each
    transitions += count
  }
  return { events, transitions }
}

function stateTypesIn({ States }: Machine): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(States).flatMap(([name, { Type, ItemProcessor }]) => [
      [name, Type] as const,
      ...(ItemProcessor === undefined ? [] : stateTypesIn(ItemProcessor)),
    ]),
  )
}

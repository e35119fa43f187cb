/** Thirty exports that share the reserved executions of their function, in simulated time. */
import { expect, it } from '@jest/globals'
import { exportWorkflow, MAX_WRITERS, RETRY, THROTTLE_ERROR } from '../../lambdas/export/workflow.ts'
import { EXECUTION_DAYS, EXPORT_STEP_MS } from '../../lambdas/runtime/step-times.ts'
import { DEFAULT_MIX } from '../../lib/model/load.ts'
import { modelOf } from '../../lib/model/model.ts'
import { MAX_EVENTS, workflowUseOf } from '../../lib/model/workflow-events.ts'
import { randomOf } from './ward.ts'

const JOBS = 30
/** Events of an attempt that failed: its function was scheduled, started and failed. */
const RETRY_EVENTS = 3
const HOUR = 3_600

const { settings } = modelOf({ resources: 1e9, writes: 10_000, reads: 5_000, searches: 500, mix: DEFAULT_MIX })
const reserved = settings.concurrency!['export-step']!
const throttled = RETRY.find(({ ErrorEquals }) => ErrorEquals.includes(THROTTLE_ERROR))!

/** Event at an instant, in seconds: a step ends, or a writer calls Lambda again after this number of rejected calls. */
type Event = { readonly at: number; readonly job: number; readonly rejected: number | undefined }

/** Runs all jobs, whose steps have the same duration. Returns the events of each, and the hours until the last one ends. */
function simulate(segments: number, seconds: number) {
  const random = randomOf(1)
  const queue = new Queue()
  const left = Array<number>(JOBS).fill(segments)
  const rejections = Array<number>(JOBS).fill(0)
  let [running, most, longest, now, steps] = [0, 0, 0, 0, 0]
  const call = (job: number, before: number): void => {
    if (running < reserved) {
      most = Math.max(most, ++running)
      queue.add({ at: now + seconds, job, rejected: undefined })
      return
    }
    rejections[job]!++
    longest = Math.max(longest, before + 1)
    const wait = Math.min(throttled.IntervalSeconds * throttled.BackoffRate ** before, throttled.MaxDelaySeconds)
    queue.add({ at: now + (wait * random(1_000)) / 1_000, job, rejected: before + 1 })
  }
  const begin = (job: number): void => {
    if (left[job] === 0) return
    left[job]!--
    call(job, 0)
  }
  for (let writer = 0; writer < MAX_WRITERS; writer++) for (let job = 0; job < JOBS; job++) begin(job)
  for (let next = queue.take(); next !== undefined; next = queue.take()) {
    now = next.at
    if (next.rejected !== undefined) call(next.job, next.rejected)
    else {
      running--
      steps++
      begin(next.job)
    }
  }
  expect(steps).toBe(JOBS * segments)
  const { events } = workflowUseOf(
    exportWorkflow('step'),
    {
      ...{ Plan: 20, Planned: 20, UntilSettled: 19, EachSegment: 1, Gather: 1, Gathered: 1, Finish: 1, Done: 1 },
      ...{ Write: segments, WriteMore: segments, WriteDone: segments },
    },
    segments,
  )
  return { most, longest, hours: now / HOUR, events: events + RETRY_EVENTS * Math.max(...rejections) }
}

/** Events in the order of their time: a binary heap. */
class Queue {
  readonly #events: Event[] = []

  add(event: Event): void {
    let at = this.#events.push(event) - 1
    for (let parent = (at - 1) >> 1; at > 0 && this.#events[parent]!.at > event.at; parent = (at - 1) >> 1) {
      this.#events[at] = this.#events[parent]!
      at = parent
    }
    this.#events[at] = event
  }

  take(): Event | undefined {
    const first = this.#events[0]
    const last = this.#events.pop()
    if (last === undefined || this.#events.length === 0) return first
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child + 1 < this.#events.length && this.#events[child + 1]!.at < this.#events[child]!.at) child++
      if (child >= this.#events.length || this.#events[child]!.at >= last.at) break
      this.#events[at] = this.#events[child]!
      at = child
    }
    this.#events[at] = last
    return first
  }
}

it.each([
  ['33 million resources', 660, 25],
  ['600 million resources', 500, EXPORT_STEP_MS / 1_000],
])('Thirty exports of %s complete with the reserved executions', (_, segments, seconds) => {
  const { most, longest, hours, events } = simulate(segments, seconds)
  expect(most).toBe(reserved)
  expect(longest).toBeLessThan(throttled.MaxAttempts)
  expect(hours).toBeLessThan(EXECUTION_DAYS.export * 24)
  expect(events).toBeLessThan(MAX_EVENTS)
})

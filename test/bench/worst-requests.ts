/**
 * `npm run bench -- worst [PATTERN]`: sends the most expensive known requests whose names match, each to a new server on the same data. Prints
 * for each request:
 * - the longest time for which it occupied the serving thread, and all its time, in processor time of that thread (event-loop-delays.ts)
 * - the longest read of another client, and the time until the index contains the written resources
 * - the memory of the process before the request, and the maximum from then on
 * - the share of the processors that other processes used
 * Marks rows above the limits.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { Agent } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { WorstRequest } from '../api/worst-request.ts'
import { seedBundles, worstRequests } from '../api/worst-requests.ts'
import type { EventLoopDelays } from './event-loop-delays.ts'
import { otherProcesses, ticksOf } from './other-processes.ts'
import { PAYER } from './payer/members.ts'
import { authorizeRequests, sendRequest, startCommand, stopProcess, trackProcess } from './served.ts'
import { memoryOf } from './thread-times.ts'

const PORT = 18_084
const base = `http://127.0.0.1:${PORT}/fhir`
/** Maximum milliseconds of processor time without a pause, and how many more for each MB of a body after the first. */
const MAX_HELD = 100
const MAX_HELD_PER_MB = 40
/** Maximum memory in MB. */
const MAX_MEMORY = 1_000
/** Maximum percentage of all processors that other processes may use. Above it the figures of a row are not reliable. */
const MAX_OTHERS = 10
/** Milliseconds after which the bench gives up waiting. */
const TIME_LIMIT = 180_000
/** Milliseconds of indexing after which the bench waits until the index has committed. */
const LONG_INDEXING = 500
/** Milliseconds without work after which the index has committed. */
const STILL = 300
/** Requests before each measurement, because a new server is slower until its code is compiled. `size`: fraction of the measured request. */
const WARM_UP = { size: 0.02, times: 5 }

/** Settings by which another payer's request for members is accepted. */
Object.assign(process.env, { FHIR_PAYER: PAYER, FHIR_SENSITIVE_LABELS: 'none', FHIR_EXPORT_NEEDS_ASSERTION: 'off' })

const scratch = mkdtempSync(join(tmpdir(), 'fhir-bench-'))
const pattern = new RegExp(process.argv.slice(3).join(' '))
const agent = new Agent({ keepAlive: true, maxSockets: 4 })
const bystander = new Agent({ keepAlive: true, maxSockets: 1 })
let child = await startMeasuredServer()

function startMeasuredServer(): Promise<ChildProcess> {
  const [node = '', ...args] = startCommand(PORT, join(scratch, 'data'))
  const started = trackProcess(
    spawn(node, ['--import', './test/bench/event-loop-delays.ts', ...args], { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] }),
  )
  return new Promise((resolve, reject) => {
    started.once('exit', () => reject(new Error('The server ended before it answered')))
    started.stdout!.on('data', (text) => String(text).includes('FHIR R4 server') && resolve(started))
  }).then(() => {
    authorizeRequests(PORT, join(scratch, 'data'))
    return started
  })
}

const readDelays = (): Promise<EventLoopDelays> =>
  new Promise((resolve) => {
    child.once('message', (message) => resolve(message as EventLoopDelays))
    child.send('report')
  })

/** Starts a new server on the same data, so that memory of a request does not count for the next one. */
async function restart(): Promise<void> {
  const previous = child
  const exit = stopProcess(previous)
  await Promise.race([exit, timeLimit().then(() => previous.kill('SIGKILL'))])
  await exit
  child = await startMeasuredServer()
  if ((await untilIndexed()) > LONG_INDEXING) await untilIdle()
}

/** Waits until the server is idle, so that its index has committed. Otherwise the next server would index again, which would count for its row. */
async function untilIdle(): Promise<void> {
  let now = ticksOf(String(child.pid))
  for (let before = -2; now - before > 1; ) {
    await pause(STILL)
    before = now
    now = ticksOf(String(child.pid))
  }
}

const hasEnded = (): boolean => child.exitCode !== null || child.signalCode !== null

/** Makes the peak of the memory (`VmHWM`) start again. https://man7.org/linux/man-pages/man5/proc_pid_clear_refs.5.html */
const resetPeak = (): void => writeFileSync(`/proc/${child.pid}/clear_refs`, '5')

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
/** Resolves after the time limit. Does not keep the process running. */
const timeLimit = (): Promise<void> => new Promise((resolve) => void setTimeout(resolve, TIME_LIMIT).unref())

/** Sends the request, again while a previous job of it runs. */
async function send(request: WorstRequest): Promise<string> {
  for (const until = performance.now() + TIME_LIMIT; ; await pause(STILL)) {
    const answer = await sendOnce(request)
    if (!answer.startsWith(BUSY) || performance.now() > until) return answer
  }
}

async function sendOnce({ method, path, headers = {}, body }: WorstRequest): Promise<string> {
  const clientRequest = sendRequest(base + path, { agent, method, headers, ...(body === undefined ? {} : { body }) })
  const answered = clientRequest
    .then(([status, { length }]) => `${status}, ${Math.ceil(length / 1000)} kB`)
    .catch(({ code }) => String(code))
  return Promise.race([answered, timeLimit().then(() => 'none')])
}

/** Sends reads of another client. The returned function stops them, and returns the longest in milliseconds. */
function reads(): () => Promise<number> {
  let isRunning = true
  let longest = 0
  const done = (async () => {
    while (isRunning) {
      const began = performance.now()
      await Promise.race([sendRequest(`${base}/Patient/p1`, { agent: bystander }).catch(() => undefined), timeLimit()])
      longest = Math.max(longest, performance.now() - began)
      await pause(5)
    }
    return longest
  })()
  return () => {
    isRunning = false
    return done
  }
}

/** Waits until the server answers searches, because the index has then caught up. Returns the milliseconds. */
async function untilIndexed(): Promise<number> {
  const began = performance.now()
  const since = (): number => performance.now() - began
  const counted = (): Promise<boolean> =>
    Promise.race([sendRequest(`${base}/Basic?_summary=count`, { agent }).then(([status]) => status === 200), timeLimit().then(() => false)])
  while (!(await counted().catch(() => false)) && since() < TIME_LIMIT && !hasEnded()) await pause(100)
  return since()
}

/** Response that starts a job. */
const STARTED = '202,'
/** Response while too many jobs run. */
const BUSY = '429,'
/** Response without a server error, and not cut off. */
const ANSWERED = /^[1-4]\d\d,/

type Row = { readonly name: string; readonly figures: readonly string[]; readonly isOver: boolean; readonly isQuiet: boolean }

const withoutFigures = ({ name }: WorstRequest, reason: string): Row => ({
  name,
  figures: [reason, '', '', '', '', '', '', ''],
  isOver: true,
  isQuiet: true,
})

async function measure(request: WorstRequest, smaller: WorstRequest): Promise<Row> {
  await restart()
  for (let i = 0; i < WARM_UP.times; i++) if ((await send(smaller)).startsWith(STARTED)) await untilIdle()
  await untilIndexed()
  await readDelays()
  resetPeak()
  const before = memoryOf(child, 'VmRSS')
  const usedByOthers = otherProcesses()
  const others = reads()
  const answer = await send(request)
  if (answer === 'none') {
    void others()
    child.kill('SIGKILL')
    return withoutFigures(request, 'no answer in 180 s')
  }
  const waited = await others()
  const behind = await untilIndexed()
  if (hasEnded()) return withoutFigures(request, `${answer}, the server ended: ${child.signalCode ?? child.exitCode}`)
  // Work that the request left for later turns of the event loop counts too, and that of its job.
  await (behind > LONG_INDEXING || answer.startsWith(STARTED) ? untilIdle() : pause(100))
  const { longest, all } = await readDelays()
  const otherUsage = usedByOthers()
  const megabytes = Math.max(0, (request.body?.length ?? 0) / 1e6 - 1)
  const peak = memoryOf(child, 'VmHWM')
  const isOver =
    longest / 1000 > MAX_HELD + megabytes * MAX_HELD_PER_MB || peak > MAX_MEMORY || !ANSWERED.test(answer) || behind > TIME_LIMIT
  const rounded = [longest / 1000, all / 1000, waited, behind, before, peak, otherUsage].map((figure) => String(Math.round(figure)))
  return { name: request.name, figures: [answer, ...rounded], isOver, isQuiet: otherUsage <= MAX_OTHERS }
}

try {
  const headers = { 'content-type': 'application/fhir+json' }
  for (const bundle of seedBundles()) await sendRequest(`${base}/`, { agent, method: 'POST', headers, body: JSON.stringify(bundle) })
  await sendRequest(`${base}/Condition?_summary=count`, { agent })
  console.log(
    '| request | answer | held, ms | used, ms | longest read of others, ms | indexed after, ms | memory before, MB | at most, MB | other processes, % | |\n|---|---|---|---|---|---|---|---|---|---|',
  )
  let [over, unquiet] = [0, 0]
  const smaller = worstRequests(WARM_UP.size)
  for (const request of worstRequests()) {
    const { value: small } = smaller.next()
    if (!pattern.test(request.name)) continue
    const { name, figures, isOver, isQuiet } = await measure(request, small)
    if (isOver) over++
    if (isOver && !isQuiet) unquiet++
    console.log(`| ${name} | ${figures.join(' | ')} | ${isOver ? 'OVER' : ''}${isOver && !isQuiet ? ', not quiet' : ''} |`)
  }
  console.log(
    `\n${over} above the limits: ${MAX_HELD} ms held without a pause, ${MAX_HELD_PER_MB} more for each MB of a body after the first; ${MAX_MEMORY} MB; a response without 5xx.\n${unquiet} of them while other processes used more than ${MAX_OTHERS} % of the processors.`,
  )
} finally {
  agent.destroy()
  bystander.destroy()
  child.kill('SIGKILL')
  rmSync(scratch, { recursive: true, force: true })
}

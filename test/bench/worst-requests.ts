/**
 * `npm run bench -- worst [pattern of names]`: the worst requests we know, one after the other, each against a new server on the same data. For
 * each the longest time its serving thread was held in one piece, in processor time of that thread (event-loop-delays.ts; other requests wait so long),
 * all it used, the longest a read of another client took meanwhile, how long until what it wrote was indexed, the memory of the process before
 * it, the most until then, and how much of the processors other processes used meanwhile. Marks what is over the bars.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { Agent } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { seedBundles, type WorstRequest, worstRequests } from '../api/worst-requests.ts'
import type { EventLoopDelays } from './event-loop-delays.ts'
import { otherProcesses, ticksOf } from './other-processes.ts'
import { authorizeRequests, sendRequest, startCommand, stopProcess, trackProcess } from './served.ts'

const PORT = 18_084
const base = `http://127.0.0.1:${PORT}/fhir`
/** Milliseconds of processor time in one piece; more for each MB of a body over the first. */
const BAR = 100
const MB_PER_BAR = 40
/** MB. */
const MEMORY_BAR = 1_000
/** Maximum percentage of all processors that other processes may use. Above it the figures of a row are not reliable. */
const QUIET_BAR = 10
const PATIENCE = 180_000
/** Milliseconds of indexing after which the bench waits until the index has committed. */
const LONG_INDEXING = 500
/** Milliseconds without work after which the index has committed. */
const STILL = 300
/** Requests before each measurement, because a new server is slower until its code is compiled. `size`: fraction of the measured request. */
const WARM_UP = { size: 0.02, times: 5 }

const scratch = mkdtempSync(join(tmpdir(), 'fhir-bench-'))
const pattern = new RegExp(process.argv.slice(3).join(' '))
const agent = new Agent({ keepAlive: true, maxSockets: 4 })
const bystander = new Agent({ keepAlive: true, maxSockets: 1 })
let child = await served()

function served(): Promise<ChildProcess> {
  const [node = '', ...args] = startCommand(PORT, join(scratch, 'data'))
  const started = trackProcess(
    spawn(node, ['--import', './test/bench/event-loop-delays.ts', ...args], { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] }),
  )
  return new Promise((resolve, reject) => {
    started.once('exit', () => reject(new Error('the server ended before it answered')))
    started.stdout!.on('data', (text) => String(text).includes('FHIR R4 server') && resolve(started))
  }).then(() => {
    authorizeRequests(PORT, join(scratch, 'data'))
    return started
  })
}

const readDelays = (): Promise<EventLoopDelays> =>
  new Promise((resolve) => {
    child.once('message', (message) => resolve(message as EventLoopDelays))
    child.send('tell')
  })

/** Starts a new server on the same data, because memory that a row leaves behind would count for the next one. */
async function restart(): Promise<void> {
  const previous = child
  const exit = stopProcess(previous)
  await Promise.race([exit, patience().then(() => previous.kill('SIGKILL'))])
  await exit
  child = await served()
  if ((await indexed()) > LONG_INDEXING) await settled()
}

/** Waits until the server has no work, so that its index has committed. Otherwise the next start indexes again, which would count for the next row. */
async function settled(): Promise<void> {
  let now = ticksOf(String(child.pid))
  for (let before = -2; now - before > 1; ) {
    await pause(STILL)
    before = now
    now = ticksOf(String(child.pid))
  }
}

const hasEnded = (): boolean => child.exitCode !== null || child.signalCode !== null

/** Memory of the server in MB: now (`VmRSS`), or the most since `forgetPeak` (`VmHWM`). */
const memory = (field: 'VmRSS' | 'VmHWM'): number => {
  const [, kb = '0'] = new RegExp(`${field}:\\s+(\\d+)`).exec(readFileSync(`/proc/${child.pid}/status`, 'utf8')) ?? []
  return Math.round(Number(kb) / 1024)
}
/** https://man7.org/linux/man-pages/man5/proc_pid_clear_refs.5.html */
const forgetPeak = (): void => writeFileSync(`/proc/${child.pid}/clear_refs`, '5')

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
/** Keeps nothing from ending. */
const patience = (): Promise<void> => new Promise((resolve) => void setTimeout(resolve, PATIENCE).unref())

async function send({ method, path, headers = {}, body }: WorstRequest): Promise<string> {
  const clientRequest = sendRequest(base + path, { agent, method, headers, ...(body === undefined ? {} : { body }) })
  const answered = clientRequest
    .then(([status, { length }]) => `${status}, ${Math.ceil(length / 1000)} kB`)
    .catch(({ code }) => String(code))
  return Promise.race([answered, patience().then(() => 'none')])
}

/** The longest of the reads another client makes until told to stop, in milliseconds. */
function reads(): () => Promise<number> {
  let going = true
  let longest = 0
  const done = (async () => {
    while (going) {
      const began = performance.now()
      await Promise.race([sendRequest(`${base}/Patient/p1`, { agent: bystander }).catch(() => undefined), patience()])
      longest = Math.max(longest, performance.now() - began)
      await pause(5)
    }
    return longest
  })()
  return () => {
    going = false
    return done
  }
}

/** Milliseconds until searches are answered: until then the index is behind. */
async function indexed(): Promise<number> {
  const began = performance.now()
  const since = (): number => performance.now() - began
  const counted = (): Promise<boolean> =>
    Promise.race([sendRequest(`${base}/Basic?_summary=count`, { agent }).then(([status]) => status === 200), patience().then(() => false)])
  while (!(await counted().catch(() => false)) && since() < PATIENCE && !hasEnded()) await pause(100)
  return since()
}

/** Not by an error of the server, nor cut off. */
const ANSWERED = /^[1-4]\d\d,/

type Row = { readonly name: string; readonly figures: readonly string[]; readonly isOver: boolean; readonly isQuiet: boolean }

const withoutFigures = ({ name }: WorstRequest, what: string): Row => ({
  name,
  figures: [what, '', '', '', '', '', '', ''],
  isOver: true,
  isQuiet: true,
})

async function measure(request: WorstRequest, smaller: WorstRequest): Promise<Row> {
  await restart()
  for (let i = 0; i < WARM_UP.times; i++) await send(smaller)
  await indexed()
  await readDelays()
  forgetPeak()
  const before = memory('VmRSS')
  const usedByOthers = otherProcesses()
  const others = reads()
  const answer = await send(request)
  if (answer === 'none') {
    void others()
    child.kill('SIGKILL')
    return withoutFigures(request, 'no answer in 180 s')
  }
  const waited = await others()
  const behind = await indexed()
  if (hasEnded()) return withoutFigures(request, `${answer}, the server ended: ${child.signalCode ?? child.exitCode}`)
  // Work that the request left for later turns of the event loop counts too.
  await (behind > LONG_INDEXING ? settled() : pause(100))
  const { longest, all } = await readDelays()
  const otherUsage = usedByOthers()
  const megabytes = Math.max(0, (request.body?.length ?? 0) / 1e6 - 1)
  const peak = memory('VmHWM')
  const isOver = longest / 1000 > BAR + megabytes * MB_PER_BAR || peak > MEMORY_BAR || !ANSWERED.test(answer) || behind > PATIENCE
  const rounded = [longest / 1000, all / 1000, waited, behind, before, peak, otherUsage].map((figure) => String(Math.round(figure)))
  return { name: request.name, figures: [answer, ...rounded], isOver, isQuiet: otherUsage <= QUIET_BAR }
}

try {
  const headers = { 'content-type': 'application/fhir+json' }
  for (const bundle of seedBundles()) await sendRequest(`${base}/`, { agent, method: 'POST', headers, body: JSON.stringify(bundle) })
  await sendRequest(`${base}/Condition?_summary=count`, { agent })
  console.log(
    '| request | answer | held, ms | used, ms | others waited, ms | indexed after, ms | memory before, MB | at most, MB | other processes, % | |\n|---|---|---|---|---|---|---|---|---|---|',
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
    `\n${over} over the bars: ${BAR} ms held in one piece, ${MB_PER_BAR} more for each MB of a body over the first; ${MEMORY_BAR} MB; an answer, no 5xx.\n${unquiet} of them while other processes used more than ${QUIET_BAR} % of the processors.`,
  )
} finally {
  agent.destroy()
  bystander.destroy()
  child.kill('SIGKILL')
  rmSync(scratch, { recursive: true, force: true })
}

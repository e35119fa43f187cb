/**
 * `npm run bench -- worst [pattern of names]`: the worst requests we know against a server in a process of its own, one after the other. For
 * each the longest time its serving thread was held in one piece, in processor time of that thread (held.ts; other requests wait so long),
 * all it used, the longest a read of another client took meanwhile, how long until what it wrote was indexed, and the most memory the process
 * had until then. Marks what is over the bars.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { Agent } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { seed, type WorstRequest, worstRequests } from '../api/worst-requests.ts'
import type { Held } from './held.ts'
import { ask, authorized, ofBench, startCommand } from './served.ts'

const PORT = 18_084
const base = `http://127.0.0.1:${PORT}/fhir`
/** Milliseconds of processor time in one piece; more for each MB of a body over the first. */
const BAR = 100
const BAR_OF_MB = 40
/** MB. */
const MEMORY_BAR = 1_000
/** MB. */
const RESTARTED_AT = 600
const PATIENCE = 180_000
/** Milliseconds. What took so long to index is kept so long after: a restart would else do it again. */
const LONG_INDEXING = 1_000
const KEPT_AFTER = 3_000

const scratch = mkdtempSync(join(tmpdir(), 'fhir-bench-'))
const wanted = new RegExp(process.argv.slice(3).join(' '))
const agent = new Agent({ keepAlive: true, maxSockets: 4 })
const bystander = new Agent({ keepAlive: true, maxSockets: 1 })
let child = await served()

function served(): Promise<ChildProcess> {
  const [node = '', ...args] = startCommand(PORT, join(scratch, 'data'))
  const started = ofBench(spawn(node, ['--import', './test/bench/held.ts', ...args], { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] }))
  return new Promise((resolve) => {
    started.stdout!.on('data', (text) => String(text).includes('FHIR R4 server') && resolve(started))
  }).then(() => {
    authorized(PORT, join(scratch, 'data'))
    return started
  })
}

const held = (): Promise<Held> =>
  new Promise((resolve) => {
    child.once('message', (message) => resolve(message as Held))
    child.send('tell')
  })

/** Begins anew with the same data: what is never given back would count for every later row. */
async function restart(): Promise<void> {
  const gone = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGKILL')
  await gone
  child = await served()
  // What its index had not kept yet is indexed again.
  await indexed()
}

/** MB the process had at most since `forgetPeak`. */
const peak = (): number => {
  const [, kb = '0'] = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8')) ?? []
  return Math.round(Number(kb) / 1024)
}
/** https://man7.org/linux/man-pages/man5/proc_pid_clear_refs.5.html */
const forgetPeak = (): void => writeFileSync(`/proc/${child.pid}/clear_refs`, '5')

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
/** Keeps nothing from ending. */
const patience = (): Promise<void> => new Promise((resolve) => void setTimeout(resolve, PATIENCE).unref())

async function send({ method, path, headers = {}, body }: WorstRequest): Promise<string> {
  const asked = ask(base + path, { agent, method, headers, ...(body === undefined ? {} : { body }) })
  const answered = asked.then(([status, { length }]) => `${status}, ${Math.ceil(length / 1000)} kB`).catch(({ code }) => String(code))
  return Promise.race([answered, patience().then(() => 'none')])
}

/** The longest of the reads another client makes until told to stop, in milliseconds. */
function reads(): () => Promise<number> {
  let going = true
  let longest = 0
  const done = (async () => {
    while (going) {
      const began = performance.now()
      await Promise.race([ask(`${base}/Patient/p1`, { agent: bystander }).catch(() => undefined), patience()])
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
    Promise.race([ask(`${base}/Basic?_summary=count`, { agent }).then(([status]) => status === 200), patience().then(() => false)])
  while (!(await counted().catch(() => false)) && since() < PATIENCE) await pause(100)
  return since()
}

/** Not by an error of the server, nor cut off. */
const ANSWERED = /^[1-4]\d\d,/

type Row = { readonly name: string; readonly figures: readonly string[]; readonly isOver: boolean }

async function measure(request: WorstRequest): Promise<Row> {
  await held()
  forgetPeak()
  const others = reads()
  const answer = await send(request)
  if (answer === 'none') {
    void others()
    await restart()
    return { name: request.name, figures: ['no answer in 180 s', '', '', '', '', ''], isOver: true }
  }
  const waited = await others()
  // What the request left behind for later turns counts, too, and not for the next one.
  const behind = await indexed()
  await pause(behind > LONG_INDEXING ? KEPT_AFTER : 100)
  const { longest, all } = await held()
  const megabytes = Math.max(0, (request.body?.length ?? 0) / 1e6 - 1)
  const memory = peak()
  if (memory > RESTARTED_AT) await restart()
  const isOver = longest / 1000 > BAR + megabytes * BAR_OF_MB || memory > MEMORY_BAR || !ANSWERED.test(answer) || behind > PATIENCE
  const ms = (us: number): string => String(Math.round(us / 1000))
  const waits = [waited, behind].map((time) => String(Math.round(time)))
  return { name: request.name, figures: [answer, ms(longest), ms(all), ...waits, String(memory)], isOver }
}

try {
  const headers = { 'content-type': 'application/fhir+json' }
  for (const bundle of seed()) await ask(`${base}/`, { agent, method: 'POST', headers, body: JSON.stringify(bundle) })
  await ask(`${base}/Condition?_summary=count`, { agent })
  console.log(
    '| request | answer | held, ms | used, ms | others waited, ms | indexed after, ms | memory, MB | |\n|---|---|---|---|---|---|---|---|',
  )
  let over = 0
  for (const request of worstRequests()) {
    if (!wanted.test(request.name)) continue
    const { name, figures, isOver } = await measure(request)
    if (isOver) over++
    console.log(`| ${name} | ${figures.join(' | ')} | ${isOver ? 'OVER' : ''} |`)
  }
  console.log(
    `\n${over} over the bars: ${BAR} ms held in one piece, ${BAR_OF_MB} more for each MB of a body over the first; ${MEMORY_BAR} MB; an answer, no 5xx`,
  )
} finally {
  agent.destroy()
  bystander.destroy()
  child.kill('SIGKILL')
  rmSync(scratch, { recursive: true, force: true })
}

/**
 * Engines that stand in for AWS in tests: real servers, kept outside the checkout, on 127.0.0.1 only.
 * An engine is installed once into the cache folder and started on a free port; `stop` ends exactly that process and those it started. Whatever
 * this process ends of, its engines end with it.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { eventually } from '../fixtures/eventually.ts'

export type RunningEngine = {
  /** What a process needs to find it. */
  readonly environment: Readonly<Record<string, string>>
  readonly stop: () => Promise<void>
}

export type Engine = {
  /** Does nothing when it is there already. */
  readonly install: () => Promise<void>
  readonly start: () => Promise<RunningEngine>
}

/** All, or none: one that does not start ends the others. */
export async function startAll(engines: readonly Pick<Engine, 'start'>[]): Promise<readonly RunningEngine[]> {
  const starting = engines.map((engine) => engine.start())
  const settled = await Promise.allSettled(starting)
  const isWhole = settled.every(({ status }) => status === 'fulfilled')
  if (!isWhole) await Promise.all(settled.map((each) => (each.status === 'fulfilled' ? each.value.stop() : undefined)))
  return Promise.all(starting)
}

export const cacheFolder = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'fhir-engines')

export type LaunchOptions = {
  readonly command: string
  readonly arguments: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  /** Answers with any 2xx or 4xx but 408 when the engine is ready. */
  readonly health: string
}

/** Milliseconds for a start. A process that has ended is noticed at once. */
const PATIENCE = 300_000
/** Milliseconds from SIGTERM to SIGKILL. */
const GRACE = 5_000
const PORTS_TRIED = 3

/** Resolves when the engine answers; another port is tried when it ends at once. */
export async function launchEngine(
  on: (port: number) => LaunchOptions,
): Promise<{ readonly port: number; readonly stop: () => Promise<void> }> {
  for (let attempt = 1; ; attempt++) {
    const port = await freePort()
    const { command, arguments: args, environment = {}, health } = on(port)
    // In a group of its own: what it starts ends with it, and a Ctrl-C is this process's to deal with.
    const child = spawn(command, args, { env: { ...process.env, ...environment }, stdio: ['ignore', 'ignore', 'pipe'], detached: true })
    running.add(child)
    const unwatch = stopWithParent(child)
    let output = ''
    child.stderr.on('data', (data) => (output = `${output}${data}`.slice(-2_000)))
    child.on('error', (error) => (output = error.message))
    if (await isReady(child, health)) return { port, stop: () => end(child).finally(unwatch) }
    await end(child).finally(unwatch)
    if (attempt === PORTS_TRIED) throw new Error(`${command} did not start: ${output}`)
  }
}

async function isReady(child: ChildProcess, health: string): Promise<boolean> {
  const answers = async (): Promise<boolean> => {
    const response = await fetch(health, { signal: AbortSignal.timeout(5_000) }).catch(() => undefined)
    await response?.body?.cancel()
    return response !== undefined && response.status < 500 && response.status !== 408
  }
  const state = async (): Promise<'ended' | 'ready' | undefined> => {
    if (!isRunning(child)) return 'ended'
    return (await answers()) && isRunning(child) ? 'ready' : undefined
  }
  return (await eventually(state, { within: PATIENCE, every: 25 }).catch(() => 'late')) === 'ready'
}

const running = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of running) signal(child, 'SIGKILL')
})

/** Waits for the end of its standard input, which the system closes when this process is killed, and kills the group it is told. */
const WATCH = 'cat > /dev/null; kill -KILL "-$0"'

/** Until it is called, `child` and its group end even where this process can do nothing any more. */
function stopWithParent({ pid }: ChildProcess): () => void {
  if (pid === undefined) return () => undefined
  const watcher = spawn('/bin/sh', ['-c', WATCH, String(pid)], { stdio: ['pipe', 'ignore', 'ignore'], detached: true })
  watcher.unref()
  return () => signal(watcher, 'SIGKILL')
}

async function end(child: ChildProcess): Promise<void> {
  if (isRunning(child)) {
    const ended = once(child, 'exit')
    child.kill('SIGTERM')
    await eventually(() => !isRunning(child), { within: GRACE }).catch(() => child.kill('SIGKILL'))
    await ended
  }
  // What it started and left.
  signal(child, 'SIGKILL')
  running.delete(child)
}

function signal({ pid }: ChildProcess, name: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, name)
  } catch {
    // There is none left.
  }
}

const isRunning = ({ pid, exitCode, signalCode }: ChildProcess): boolean => pid !== undefined && exitCode === null && signalCode === null

export const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer()
      .once('error', reject)
      .listen(0, '127.0.0.1', () => {
        const { port } = server.address() as { readonly port: number }
        server.close(() => resolve(port))
      })
  })

/** Runs the command line as a process. */
import { type ChildProcess, spawn } from 'node:child_process'
import type { Tree } from '../api/server.ts'
import { freePort } from '../engines/engine.ts'
import { runAtEnd } from '../fixtures/at-end.ts'

export type ProcessResult = { readonly code: number | null; readonly out: string; readonly err: string }

/** Runs a command to its end. */
export const runFhir = (...args: readonly string[]): Promise<ProcessResult> => startFhir(...args).ended

/** Starts a command. `ended`: resolves when it has ended. */
export function startFhir(...args: readonly string[]): { readonly child: ChildProcess; readonly ended: Promise<ProcessResult> } {
  const child = spawn(process.execPath, ['bin/fhir.js', ...args])
  return { child, ended: ended(child) }
}

/** Runs a command in another environment. */
export const runFhirWithEnvironment = (env: NodeJS.ProcessEnv, ...args: readonly string[]): Promise<ProcessResult> =>
  ended(spawn(process.execPath, ['bin/fhir.js', ...args], { env }))

/** Runs a command with `input` on its standard input. */
export function runFhirWithInput(input: string, ...args: readonly string[]): Promise<ProcessResult> {
  const child = spawn(process.execPath, ['bin/fhir.js', ...args])
  child.stdin.end(input)
  return ended(child)
}

function ended(child: ChildProcess): Promise<ProcessResult> {
  let out = ''
  let err = ''
  child.stdout!.on('data', (data) => (out += data))
  child.stderr!.on('data', (data) => (err += data))
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, out, err })))
}

export type RunningServer = {
  readonly child: ChildProcess
  readonly base: string
  readonly out: () => string
  readonly err: () => string
  readonly stop: (signal?: NodeJS.Signals) => Promise<number | null>
}

/** Runs `fhir start --open` on a free port. Resolves when the server has printed its greeting. */
export const startOpenServer = (...args: readonly string[]): Promise<RunningServer> => startOpenServerUnder([], ...args)

/** Runs `fhir start` with token access on a free port. */
export const startTokenServer = (...args: readonly string[]): Promise<RunningServer> => startTokenServerWithSettings({}, ...args)

/** Runs `fhir start` with token access and further settings on a free port. */
export const startTokenServerWithSettings = async (
  settings: Readonly<Record<string, string>>,
  ...args: readonly string[]
): Promise<RunningServer> => startedOn(await freePort(), [], args, { ...process.env, ...settings })

/** Runs `fhir start --open` by `command`, which receives the program and its arguments as its last arguments. */
export const startOpenServerUnder = async (command: readonly string[], ...args: readonly string[]): Promise<RunningServer> =>
  startedOn(await freePort(), command, ['--open', ...args])

async function startedOn(
  port: number,
  command: readonly string[],
  args: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): Promise<RunningServer> {
  const [program, ...rest] = [...command, process.execPath, 'bin/fhir.js', 'start', '--port', String(port), ...args]
  const child = spawn(program!, rest, { env })
  runAtEnd(() => child.kill('SIGKILL'))
  let out = ''
  let err = ''
  child.stderr.on('data', (data) => (err += data))
  await new Promise<void>((resolve, reject) => {
    child.stdout.on('data', (data) => {
      out += data
      if (out.includes('Stop it with')) resolve()
    })
    child.once('exit', () => reject(new Error(`the server ended: ${err}`)))
  })
  const stop = (signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> =>
    new Promise((resolve) => {
      if (child.exitCode !== null || child.signalCode !== null) return resolve(child.exitCode)
      child.once('exit', (code) => resolve(code))
      child.kill(signal)
    })
  return { child, base: `http://127.0.0.1:${port}/fhir`, out: () => out, err: () => err, stop }
}

/** Returns the body of a response with any status. */
export const fetchJson = async (url: string): Promise<Tree> => (await fetch(url)).json()

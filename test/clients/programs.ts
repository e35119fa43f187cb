/** Clients in separate programs, with the base URL of the server as an argument. */
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { StepResults } from './steps.ts'

export type Program = { readonly command: string; readonly arguments: readonly string[] }

/** Runs the program and returns its results. It prints a line for each step: its name, a tab, and the error. */
export async function runProgram({ command, arguments: args }: Program): Promise<StepResults> {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  const output = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) child[name].setEncoding('utf8').on('data', (data) => (output[name] += data))
  const code = await new Promise((resolve, reject) => child.once('error', reject).once('close', resolve))
  if (code !== 0) throw new Error(`${command} ended with ${code}: ${output.stderr.slice(-2_000)}`)
  const lines = output.stdout.split('\n').filter((line) => line !== '')
  return new Map(lines.map((line) => line.split('\t') as [string, string]))
}

/** Returns the reason why `install` fails, or undefined if it succeeds. Throws in CI, where every client must be tested. */
export async function installBlockReason(install: () => Promise<unknown>): Promise<string | undefined> {
  try {
    await install()
    return undefined
  } catch (error) {
    if (process.env.CI !== undefined) throw error
    return (error as Error).message.split('\n', 2).join(' ')
  }
}

export type StartedProgram = {
  /** Calls a method of the program. Returns its result or throws its error. */
  readonly call: (method: string, ...args: readonly string[]) => Promise<unknown>
  readonly end: () => Promise<void>
}

/** Starts a program that answers its input line by line. It ends when its input ends. */
export function startProgram({ command, arguments: args }: Program): StartedProgram {
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'] })
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (data) => (stderr += data))
  const ended = new Promise<void>((resolve, reject) => child.once('error', reject).once('close', () => resolve()))
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return {
    async call(...asked) {
      child.stdin.write(`${JSON.stringify(asked)}\n`)
      const line = await lines.next()
      if (line.done) throw new Error(`${command} ended without an answer to ${asked}: ${stderr.slice(-2_000)}`)
      const { result, error } = JSON.parse(line.value)
      if (error !== undefined) throw new Error(error)
      return result
    },
    async end() {
      child.stdin.end()
      await ended
    },
  }
}

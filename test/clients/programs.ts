/** Clients that are programs of their own: started with the server's base URL, they write a line for each step. */
import { spawn } from 'node:child_process'
import type { StepResults } from './steps.ts'

export type Program = { readonly command: string; readonly arguments: readonly string[] }

/** `step`, a tab, and what went wrong. */
export async function runProgram({ command, arguments: args }: Program): Promise<StepResults> {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  const output = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) child[name].setEncoding('utf8').on('data', (data) => (output[name] += data))
  const code = await new Promise((resolve, reject) => child.once('error', reject).once('close', resolve))
  if (code !== 0) throw new Error(`${command} ended with ${code}: ${output.stderr.slice(-2_000)}`)
  const lines = output.stdout.split('\n').filter((line) => line !== '')
  return new Map(lines.map((line) => line.split('\t') as [string, string]))
}

/** Why it cannot be installed here; undefined: it is. In CI that is a fault of the run. */
export async function installBlockReason(install: () => Promise<unknown>): Promise<string | undefined> {
  try {
    await install()
    return undefined
  } catch (error) {
    if (process.env.CI !== undefined) throw error
    return (error as Error).message.split('\n', 2).join(' ')
  }
}

/** Commands that install an engine: their output is shown only when they fail. */
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

type Step = {
  readonly command: string
  readonly arguments: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
}

/** Runs the steps unless they once ended well for this folder. */
export async function installOnce(folder: string, steps: readonly Step[]): Promise<void> {
  const marker = join(folder, 'installed')
  if (existsSync(marker)) return
  mkdirSync(folder, { recursive: true })
  for (const step of steps) await run(step)
  writeFileSync(marker, '')
}

function run({ command, arguments: args, environment = {} }: Step): Promise<void> {
  const child = spawn(command, args, { env: { ...process.env, ...environment }, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (output = `${output}${data}`.slice(-5_000)))
  return new Promise((resolve, reject) => {
    child.once('error', (error) => reject(new Error(`${command}: ${error.message}`)))
    child.once('close', (code) => (code === 0 ? resolve() : reject(new Error(`${command} ${args.join(' ')} failed:\n${output}`))))
  })
}

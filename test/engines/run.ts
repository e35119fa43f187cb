/**
 * Runs a command beside real engines and ends as it ended:
 *   node test/engines/run.ts ENGINE… -- COMMAND ARGUMENT…
 * Without a command it only installs. Engines: ministack (sets DYNAMODB_ENDPOINT), minio (sets S3_ENDPOINT), opensearch, of one node, and
 * opensearch-pair, of two (both set OPENSEARCH_ENDPOINT and OPENSEARCH_NODES).
 */
import { spawn } from 'node:child_process'
import type { Engine, RunningEngine } from './engine.ts'
import { minio } from './minio.ts'
import { ministack } from './ministack.ts'
import { opensearch, opensearchPair } from './opensearch.ts'

const ENGINES: Readonly<Record<string, Engine>> = { ministack, minio, opensearch, 'opensearch-pair': opensearchPair }

const words = process.argv.slice(2)
const split = words.includes('--') ? words.indexOf('--') : words.length
process.exitCode = await main(words.slice(0, split), words.slice(split + 1))

async function main(names: readonly string[], command: readonly string[]): Promise<number> {
  const unknown = names.filter((name) => !Object.hasOwn(ENGINES, name))
  if (names.length === 0 || unknown.length > 0) {
    console.error(`Usage: node test/engines/run.ts ENGINE… [-- COMMAND…]; engines: ${Object.keys(ENGINES).join(', ')}`)
    return 2
  }
  const running: RunningEngine[] = []
  try {
    for (const name of names) await ENGINES[name]!.install()
    if (command.length === 0) return 0
    for (const name of names) running.push(await ENGINES[name]!.start())
    return await runBeside(running, command)
  } catch (error) {
    console.error((error as Error).message)
    return 1
  } finally {
    await Promise.all(running.map(({ stop }) => stop()))
  }
}

function runBeside(engines: readonly RunningEngine[], [command, ...args]: readonly string[]): Promise<number> {
  const environment = Object.assign({}, process.env, ...engines.map(({ environment }) => environment))
  const child = spawn(command!, args, { env: environment, stdio: 'inherit' })
  // The command ends itself; the engines are stopped when it has.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal))
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code) => resolve(code ?? 1))
  })
}

/**
 * Runs a command with real engines: `node test/engines/run.ts minio ministack -- npm test -- test/adapters`.
 * Sets S3_ENDPOINT and DYNAMODB_ENDPOINT, stops what it started, and ends with the command's exit code.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { minio, ministack } from './install.ts'

type Engine = { readonly variable: string; readonly health: string; readonly start: (port: number, folder: string) => ChildProcess }

const ENGINES: Readonly<Record<string, Engine>> = {
  minio: {
    variable: 'S3_ENDPOINT',
    health: '/minio/health/live',
    start: (port, folder) =>
      started(minio(), ['server', '--quiet', '--address', `127.0.0.1:${port}`, folder], {
        MINIO_ROOT_USER: 'minioadmin',
        MINIO_ROOT_PASSWORD: 'minioadmin',
        MINIO_BROWSER: 'off',
        MINIO_UPDATE: 'off',
      }),
  },
  ministack: {
    variable: 'DYNAMODB_ENDPOINT',
    health: '/_localstack/health',
    start: (port) =>
      started(ministack(), [], {
        BIND_HOST: '127.0.0.1',
        GATEWAY_PORT: String(port),
        LAMBDA_EXECUTOR: 'local',
        DOCKER_HOST: 'unix:///nonexistent',
        LOG_LEVEL: 'WARNING',
      }),
  },
}

const started = (command: string, args: readonly string[], env: Record<string, string>): ChildProcess =>
  spawn(command, args, { stdio: ['ignore', 'ignore', 'inherit'], env: { ...process.env, ...env } })

const names = process.argv.slice(2, process.argv.indexOf('--'))
const [command, ...args] = process.argv.slice(process.argv.indexOf('--') + 1)
const folder = mkdtempSync(join(tmpdir(), 'fhir-engines-'))
const running: ChildProcess[] = []
let code: number | null = 1
try {
  const endpoints: Record<string, string> = {}
  for (const name of names) {
    const engine = ENGINES[name]
    if (engine === undefined) throw new Error(`there is no engine ${name}, only ${Object.keys(ENGINES).join(' and ')}`)
    const port = await freePort()
    running.push(engine.start(port, join(folder, name)))
    endpoints[engine.variable] = `http://127.0.0.1:${port}`
    await healthy(name, `http://127.0.0.1:${port}${engine.health}`)
  }
  const child = spawn(command!, args, { stdio: 'inherit', env: { ...process.env, ...endpoints } })
  code = await new Promise((resolve) => child.on('exit', resolve))
} finally {
  for (const engine of running) engine.kill()
  await wait(200)
  rmSync(folder, { recursive: true, force: true })
}
process.exitCode = code ?? 1

async function healthy(name: string, url: string): Promise<void> {
  for (let tries = 0; tries < 300; tries++) {
    if (
      await fetch(url).then(
        ({ ok }) => ok,
        () => false,
      )
    )
      return
    await wait(100)
  }
  throw new Error(`${name} does not answer`)
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number }
      server.close(() => resolve(port))
    })
  })
}

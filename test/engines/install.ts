/** Installs the engines that stand in for AWS, outside the checkout, each once: pinned versions, test tools only. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

const HOME = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'fhir-engines')
const MINIO = 'v0.0.0-20260212201848-7aac2a2c5b7c'
const MINISTACK = '1.5.33'

const run = (command: string, args: readonly string[], env: Record<string, string> = {}): void => {
  execFileSync(command, args, { stdio: ['ignore', 'inherit', 'inherit'], env: { ...process.env, ...env } })
}

/** Built from source by Go; the first time takes minutes. */
export function minio(): string {
  const folder = join(HOME, `minio-${MINIO}`)
  const binary = join(folder, 'minio')
  if (!existsSync(binary)) {
    mkdirSync(folder, { recursive: true })
    run('go', ['install', `github.com/minio/minio@${MINIO}`], { GOFLAGS: '-buildvcs=false', GOBIN: folder })
  }
  return binary
}

/** From PyPI, into an environment of its own. */
export function ministack(): string {
  const folder = join(HOME, `ministack-${MINISTACK}`)
  const binary = join(folder, 'bin', 'ministack')
  if (!existsSync(binary)) {
    run('python3', ['-m', 'venv', folder])
    run(join(folder, 'bin', 'pip'), ['install', '-q', `ministack==${MINISTACK}`, 'cryptography'])
  }
  return binary
}

/** MiniStack: many AWS services in one Python process: the second, independent DynamoDB, and the cloud the stacks are deployed to. https://pypi.org/project/ministack/ */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { cacheFolder, type Engine, launchEngine } from './engine.ts'
import { installOnce } from './install.ts'

const VERSION = '1.5.33'
const folder = join(cacheFolder, `ministack-${VERSION}`)

export const ministack: Engine = {
  install: () =>
    installOnce(folder, [
      { command: 'python3', arguments: ['-m', 'venv', folder] },
      { command: join(folder, 'bin', 'pip'), arguments: ['install', '--quiet', `ministack==${VERSION}`, 'cryptography==50.0.2'] },
    ]),
  async start() {
    // It leaves the code of functions behind.
    const data = mkdtempSync(join(tmpdir(), 'fhir-ministack-'))
    const { port, stop } = await launchEngine((port) => ({
      command: join(folder, 'bin', 'ministack'),
      arguments: [],
      environment: {
        BIND_HOST: '127.0.0.1',
        GATEWAY_PORT: String(port),
        LAMBDA_EXECUTOR: 'local',
        // It must not look for containers.
        DOCKER_HOST: 'unix:///nonexistent',
        LOG_LEVEL: 'WARNING',
        TMPDIR: data,
      },
      health: `http://127.0.0.1:${port}/_localstack/health`,
    }))
    return {
      environment: { DYNAMODB_ENDPOINT: `http://127.0.0.1:${port}`, KMS_ENDPOINT: `http://127.0.0.1:${port}` },
      async stop() {
        await stop()
        rmSync(data, { recursive: true, force: true })
      },
    }
  },
}

/** MinIO: S3 that checks signatures, part sizes and orders. A tool of the tests only. Its first installation compiles for some minutes. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { cacheFolder, type Engine, launchEngine } from './engine.ts'
import { installOnce } from './install.ts'

const VERSION = 'v0.0.0-20260212201848-7aac2a2c5b7c'
const folder = join(cacheFolder, `minio-${VERSION}`)
const [user, password] = ['minioadmin', 'minioadmin']

export const minio: Engine = {
  install: () =>
    installOnce(folder, [
      {
        command: 'go',
        arguments: ['install', `github.com/minio/minio@${VERSION}`],
        environment: { GOFLAGS: '-buildvcs=false', GOBIN: folder },
      },
    ]),
  async start() {
    const data = mkdtempSync(join(tmpdir(), 'fhir-minio-'))
    const { port, stop } = await launchEngine((port) => ({
      command: join(folder, 'minio'),
      arguments: ['server', '--quiet', '--address', `127.0.0.1:${port}`, data],
      environment: { MINIO_ROOT_USER: user, MINIO_ROOT_PASSWORD: password, MINIO_BROWSER: 'off', MINIO_UPDATE: 'off' },
      health: `http://127.0.0.1:${port}/minio/health/live`,
    }))
    return {
      environment: { S3_ENDPOINT: `http://127.0.0.1:${port}`, S3_ACCESS_KEY: user, S3_SECRET_KEY: password },
      async stop() {
        await stop()
        rmSync(data, { recursive: true, force: true })
      },
    }
  },
}

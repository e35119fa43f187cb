/** Third-party Bulk Data clients against this server. smart-fetch: https://docs.smarthealthit.org/smart-fetch/ (Apache-2.0) */
import { spawn } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect } from '@jest/globals'
import { installPythonPackages, pythonEnvironmentOf } from '../engines/python.ts'
import { newFolder } from '../fixtures/at-end.ts'
import { isProgramUsable, itRequiring } from '../fixtures/needing.ts'
import { type ProcessResult, type RunningServer, runFhir, startTokenServer } from './process.ts'

const PACKAGES = ['smart-fetch==1.0.3']
const smartFetch = join(pythonEnvironmentOf(PACKAGES), 'bin', 'smart-fetch')

await installPythonPackages(PACKAGES).catch((error: Error) => process.stderr.write(`smart-fetch cannot be installed: ${error.message}\n`))

const itWithSmartFetch = itRequiring('smart-fetch', isProgramUsable(smartFetch, '--version'))
const itWithCurl = itRequiring('curl', isProgramUsable('curl', '--version'))

function run(command: string, ...args: readonly string[]): Promise<ProcessResult> {
  const child = spawn(command, args)
  let [out, err] = ['', '']
  child.stdout.on('data', (data) => (out += data))
  child.stderr.on('data', (data) => (err += data))
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, out, err })))
}

const linesOf = (file: string): number => readFileSync(file, 'utf8').trimEnd().split('\n').length

describe('An export by a third-party client', () => {
  const folder = newFolder()
  const [data, key, keys] = [join(folder, 'data'), join(folder, 'key.json'), join(folder, 'keys.jwks')]
  let server: RunningServer
  const expected = new Map<string, number>()

  beforeAll(async () => {
    server = await startTokenServer('--sample', '--data', data)
    await runFhir('client', 'add', 'other', '--new-key', key, '--scope', 'system/*.rs', '--data', data)
    writeFileSync(keys, JSON.stringify({ keys: [JSON.parse(readFileSync(key, 'utf8'))] }))
    const own = join(folder, 'own')
    expect(await runFhir('export', '--to', own, '--from', server.base, '--client', 'other', '--key', key)).toMatchObject({ code: 0 })
    for (const name of readdirSync(own)) if (name.endsWith('.ndjson')) expected.set(name.replace('.ndjson', ''), linesOf(join(own, name)))
  }, 60_000)

  itWithSmartFetch('smart-fetch', async () => {
    const to = join(folder, 'smart-fetch')
    const as = ['--smart-client-id', 'other', '--smart-key', keys]
    const types = ['Patient', 'Condition', 'Encounter']
    const from = ['--fhir-url', server.base, '--no-compression', '--type', types.join(',')]
    const { code, out, err } = await run(smartFetch, 'bulk', ...as, ...from, to)
    expect([code, code === 0 ? '' : out + err]).toEqual([0, ''])
    const counts = types.map((type) =>
      readdirSync(to, { recursive: true, encoding: 'utf8' })
        .filter((name) => new RegExp(`(?:^|[/.])${type}(?:\\.\\d+)?\\.ndjson$`).test(name))
        .reduce((sum, name) => sum + linesOf(join(to, name)), 0),
    )
    expect(counts).toEqual(types.map((type) => expected.get(type)))
  })

  itWithCurl('curl', async () => {
    const { out: token } = await runFhir('token', '--data', data)
    const curl = async (...args: readonly string[]): Promise<string> =>
      (await run('curl', '-sS', '-H', `Authorization: Bearer ${token.trim()}`, ...args)).out
    const kicked = await curl('-i', '-H', 'Accept: application/fhir+json', '-H', 'Prefer: respond-async', `${server.base}/Patient/$export`)
    const [, link = ''] = /^content-location: (\S+)/im.exec(kicked) ?? []
    for (;;) {
      const text = await curl(link)
      if (text === '') continue
      const { output } = JSON.parse(text) as { readonly output: readonly { readonly type: string; readonly url: string }[] }
      const { url } = output.find(({ type }) => type === 'Patient')!
      // No token is needed: the link authorizes the download.
      const { out } = await run('curl', '-sS', url)
      return expect(out.trimEnd().split('\n')).toHaveLength(expected.get('Patient')!)
    }
  })
})

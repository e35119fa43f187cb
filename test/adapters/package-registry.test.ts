/** A registry of packages on this machine, and such as lead elsewhere. */
import { createHash } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { beforeAll, expect, it } from '@jest/globals'
import { fetchArchive } from '../../lambdas/adapters/https/package-registry.ts'
import { mayReachOf } from '../../lambdas/adapters/https/private-hosts.ts'
import { atEnd } from '../fixtures/at-end.ts'

const ARCHIVE = Buffer.from('an archive')
const hashOf = (algorithm: string, encoding: 'base64' | 'hex'): string => createHash(algorithm).update(ARCHIVE).digest(encoding)

let registry: string
const dists = (): Readonly<Record<string, object>> => ({
  '1.0.0': { tarball: `${registry}/a.tgz`, shasum: hashOf('sha1', 'hex') },
  '1.1.0': { tarball: `${registry}/moved`, integrity: `sha512-${hashOf('sha512', 'base64')}`, shasum: 'not looked at' },
  '2.0.0': { tarball: `${registry}/a.tgz`, shasum: hashOf('sha256', 'hex') },
  '2.1.0': { tarball: `${registry}/a.tgz`, integrity: `sha512-${hashOf('sha256', 'base64')}` },
  '3.0.0': { tarball: `${registry}/inward` },
  '3.1.0': { tarball: `${registry}/plain` },
  '3.2.0': { tarball: `${registry}/circle` },
  '3.3.0': { tarball: `${registry}/missing` },
  '3.4.0': {},
})
const LEADS: Readonly<Record<string, string>> = {
  '/moved': '/a.tgz',
  '/inward': 'https://10.0.0.1/a.tgz',
  '/plain': 'http://example.org/a.tgz',
  '/circle': '/circle',
}

beforeAll(async () => {
  const server = createServer(({ url = '' }, response) => {
    const location = LEADS[url]
    if (url === '/a.tgz') response.end(ARCHIVE)
    else if (location !== undefined) response.writeHead(302, { location }).end()
    else if (url === '/guide')
      response.end(JSON.stringify({ versions: Object.fromEntries(Object.entries(dists()).map(([version, dist]) => [version, { dist }])) }))
    else if (url === '/broken') response.end('<html>')
    else response.writeHead(404).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  atEnd(() => void server.close())
  registry = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})

const fetched = (name: string, version: string) => fetchArchive(name, version, { registry, mayReach: mayReachOf([]) })

it.each([['1.0.0'], ['1.1.0']])('gives the archive that is listed: %s', async (version) => {
  expect(Buffer.from(await fetched('guide', version))).toEqual(ARCHIVE)
})

it.each([
  ['guide', '2.0.0', 'its hash is another'],
  ['guide', '2.1.0', 'its hash is another'],
  ['guide', '3.0.0', 'address 10.0.0.1 is private'],
  ['guide', '3.1.0', 'http://example.org is not asked: it is not https'],
  ['guide', '3.2.0', 'leads from one place to the next'],
  ['guide', '3.3.0', '/missing is answered by 404'],
  ['guide', '3.4.0', 'does not say where the archive'],
  ['guide', '9.0.0', 'has no guide 9.0.0: it has 1.0.0, 1.1.0'],
  ['guide', 'constructor', 'has no guide constructor'],
  ['unknown', '1.0.0', '/unknown is answered by 404'],
  ['broken', '1.0.0', 'is not JSON'],
])('says why not: %s %s: %s', async (name, version, text) => {
  await expect(fetched(name, version)).rejects.toThrow(text)
})

it('elsewhere leads to nothing on this machine', async () => {
  const elsewhere = { registry: 'https://packages.example.org', mayReach: mayReachOf([]) }
  const port = new URL(registry).port
  await expect(fetchArchive('guide', '1.0.0', { ...elsewhere, registry: `https://10.0.0.1:${port}` })).rejects.toThrow('is private')
  await expect(fetchArchive('guide', '1.0.0', { ...elsewhere, registry: 'http://example.org' })).rejects.toThrow('it is not https')
})

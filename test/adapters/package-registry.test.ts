/** A registry of packages on this machine, and addresses that lead elsewhere. */
import { createHash } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { beforeAll, expect, it } from '@jest/globals'
import { fetchArchive } from '../../lambdas/adapters/https/package-registry.ts'
import { addressFilterOf } from '../../lambdas/adapters/https/private-hosts.ts'
import { runAtEnd } from '../fixtures/at-end.ts'

const ARCHIVE = Buffer.from('an archive')
const hashOf = (algorithm: string, encoding: 'base64' | 'hex'): string => createHash(algorithm).update(ARCHIVE).digest(encoding)

let registry: string
const dists = (): Readonly<Record<string, object>> => ({
  '1.0.0': { tarball: `${registry}/a.tgz`, shasum: hashOf('sha1', 'hex') },
  '1.1.0': { tarball: `${registry}/moved`, integrity: `sha512-${hashOf('sha512', 'base64')}`, shasum: 'not looked at' },
  '4.0.9': { tarball: `${registry}/a.tgz` },
  '4.0.10': { tarball: `${registry}/a.tgz` },
  '4.0.10-ballot': { tarball: `${registry}/a.tgz` },
  '5.0.0-ballot': { tarball: `${registry}/a.tgz` },
  '2.0.0': { tarball: `${registry}/a.tgz`, shasum: hashOf('sha256', 'hex') },
  '2.1.0': { tarball: `${registry}/a.tgz`, integrity: `sha512-${hashOf('sha256', 'base64')}` },
  '3.0.0': { tarball: `${registry}/inward` },
  '3.1.0': { tarball: `${registry}/plain` },
  '3.2.0': { tarball: `${registry}/circle` },
  '3.3.0': { tarball: `${registry}/missing` },
  '3.4.0': {},
})
const listing = () => ({ versions: Object.fromEntries(Object.entries(dists()).map(([version, dist]) => [version, { dist }])) })
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
    else if (url === '/guide') response.end(JSON.stringify({ ...listing(), 'dist-tags': { latest: '1.1.0' } }))
    else if (url === '/untagged') response.end(JSON.stringify(listing()))
    else if (url === '/broken') response.end('<html>')
    else response.writeHead(404).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  runAtEnd(() => void server.close())
  registry = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})

const fetched = (name: string, version: string) => fetchArchive(name, version, { registry, mayReach: addressFilterOf([]) })

it.each([['1.0.0'], ['1.1.0']])('A registry returns the listed archive: %s', async (version) => {
  const { archive, version: found } = await fetched('guide', version)
  expect([Buffer.from(archive), found]).toEqual([ARCHIVE, version])
})

it.each([
  ['1.0.x', '1.0.0'],
  ['1.x', '1.1.0'],
  ['4.0.x', '4.0.10'],
  ['5.0.x', '5.0.0-ballot'],
  ['latest', '1.1.0'],
])('A registry returns the newest match: %s is %s', async (asked, version) => {
  expect((await fetched('guide', asked)).version).toBe(version)
})

it('A registry without tags returns the newest version as the latest', async () => {
  expect((await fetched('untagged', 'latest')).version).toBe('4.0.10')
})

it.each([
  ['guide', '2.0.0', 'its hash is another'],
  ['guide', '2.1.0', 'its hash is another'],
  ['guide', '3.0.0', 'address 10.0.0.1 is private'],
  ['guide', '3.1.0', 'http://example.org is not asked: it is not https'],
  ['guide', '3.2.0', 'leads from one place to the next'],
  ['guide', '3.3.0', '/missing is answered by 404'],
  ['guide', '3.4.0', 'does not say where the archive'],
  ['guide', '9.0.0', 'has no guide 9.0.0: it has 2.1.0, 3.0.0'],
  ['guide', '9.0.x', 'has no guide 9.0.x: it has 2.1.0, 3.0.0'],
  ['guide', 'current', 'guide@current is not published, because its content changes with each build: it has 2.1.0'],
  ['guide', 'constructor', 'has no guide constructor'],
  ['unknown', '1.0.0', '/unknown is answered by 404'],
  ['broken', '1.0.0', 'is not JSON'],
])('A failed fetch names the reason: %s %s: %s', async (name, version, text) => {
  await expect(fetched(name, version)).rejects.toThrow(text)
})

it('A registry elsewhere is used only over https and at public addresses', async () => {
  const elsewhere = { registry: 'https://packages.example.org', mayReach: addressFilterOf([]) }
  const port = new URL(registry).port
  await expect(fetchArchive('guide', '1.0.0', { ...elsewhere, registry: `https://10.0.0.1:${port}` })).rejects.toThrow('is private')
  await expect(fetchArchive('guide', '1.0.0', { ...elsewhere, registry: 'http://example.org' })).rejects.toThrow('it is not https')
})

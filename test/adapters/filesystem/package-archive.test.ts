/** Package archives from untrusted sources. */
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from '@jest/globals'
import { ArchiveError, type ArchiveLimits, type JsonObject, readArchive } from '../../../lambdas/adapters/filesystem/package-archive.ts'
import { guideFilesOf, packArchive } from '../../fixtures/packages.ts'

async function* chunksOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 100) yield bytes.subarray(at, at + 100)
}

async function read(bytes: Uint8Array, bounds?: ArchiveLimits): Promise<readonly JsonObject[]> {
  const files: JsonObject[] = []
  await readArchive(chunksOf(bytes), (file) => files.push(file), bounds)
  return files
}

const MANIFEST = { 'package/package.json': { name: 'a', version: '1.0.0' } }

describe('An archive', () => {
  it('yields its package.json and the JSON files beside it, from no other folder', async () => {
    const files = {
      'package/a.json': { a: 1 },
      'package/example/b.json': { b: 1 },
      'package/c.xml': '<c/>',
      '../d.json': { d: 1 },
      '/e.json': '{',
    }
    const bytes = await packArchive({ ...files, ...MANIFEST })
    expect(await read(bytes)).toEqual([{ a: 1 }])
    expect(await readArchive(chunksOf(bytes), () => undefined)).toEqual(MANIFEST['package/package.json'])
  })

  it('is read without the attribute files that macOS adds', async () => {
    const bytes = await packArchive({
      '._package': 'x',
      'package/._package.json': '\u0000\u0005',
      'package/._a.json': 'x',
      'package/a.json': { a: 1 },
      ...MANIFEST,
    })
    expect(await read(bytes)).toEqual([{ a: 1 }])
  })

  it.each([
    ['an empty file', async () => new Uint8Array(0), 'cannot be read'],
    ['uncompressed text', async () => Buffer.from('{"a":1}'), 'It cannot be read as a .tgz archive of a package (incorrect header check)'],
    ['no tar archive', async () => gzipSync('x'.repeat(2_000)), 'cannot be read'],
    ['a truncated archive', async () => (await packArchive(guideFilesOf('1.0.0'))).subarray(0, 300), 'cannot be read'],
    ['a damaged archive', async () => (await packArchive(guideFilesOf('1.0.0'))).map((byte, i) => (i === 200 ? byte ^ 0xff : byte)), ''],
    ['no package', () => packArchive({ 'package/a.json': {} }), 'It has no package/package.json'],
    ['invalid JSON', () => packArchive({ ...MANIFEST, 'package/a.json': '{"a"' }), 'package/a.json is not a JSON object'],
    ['a list', () => packArchive({ ...MANIFEST, 'package/a.json': [] }), 'package/a.json is not a JSON object'],
    [
      'a link',
      () => packArchive(MANIFEST, { name: 'package/a.json', type: 'symlink', linkname: '/etc/passwd' }),
      'It holds a link (package/a.json)',
    ],
    ['a hard link', () => packArchive(MANIFEST, { name: 'package/a.json', type: 'link', linkname: '/etc/passwd' }), 'It holds a link'],
  ])('is rejected: %s', async (_, make, text) => {
    const refused = read(await make())
    await expect(refused).rejects.toBeInstanceOf(ArchiveError)
    await expect(refused).rejects.toThrow(text)
  })

  it('is limited in unpacked size, size of each file and number of files', async () => {
    const bytes = await packArchive({ ...MANIFEST, 'package/a.json': { a: '0'.repeat(100_000) }, 'package/b.json': {} })
    const wide: ArchiveLimits = { all: 1_000_000, each: 200_000, files: 3 }
    expect(bytes.length).toBeLessThan(2_000)
    expect(await read(bytes, wide)).toHaveLength(2)
    await expect(read(bytes, { ...wide, all: 50_000 })).rejects.toThrow('It holds more than 50000 bytes')
    await expect(read(bytes, { ...wide, each: 50_000 })).rejects.toThrow('package/a.json is longer than 50000 bytes')
    await expect(read(bytes, { ...wide, files: 2 })).rejects.toThrow('It holds more than 2 files')
  })
})

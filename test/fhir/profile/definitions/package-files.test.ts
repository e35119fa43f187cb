/** The files of a package: a long list is split into parts, and a lookup reads one of them. */
import { describe, expect, it } from '@jest/globals'
import { buildPackage, type Package, packageFilesOf, shardOf } from '../../../../lambdas/fhir/profile/definitions/package-files.ts'
import type { Resource } from '../../../../lambdas/fhir/resource.ts'
import { addManifest } from '../../../../lambdas/packages/manifest.ts'
import { parseLabel } from '../../../../lambdas/packages/package-labels.ts'
import { PackageReader } from '../../../../lambdas/packages/package-reader.ts'
import { comparePrecedence } from '../../../../lambdas/ports/definitions/version-order.ts'

const urls = Array.from({ length: 200 }, (_, i) => `http://example.org/ValueSet/${i}`)
const valueSets = Object.fromEntries(urls.map((url) => [url, { url, include: [{ system: url, codes: ['a'.repeat(50)] }] }]))
const made: Package = { name: 'a', version: '1', profiles: {}, valueSets, codeSystems: {} }

it('a package with short lists has one file for each list', () => {
  expect([...packageFilesOf(made).keys()]).toEqual(['index.json', 'value-sets.json', 'code-systems.json'])
})

it('a long list is split into parts, and a lookup reads one part', async () => {
  const files = addManifest(made, packageFilesOf(made, 2_000))
  const parts = [...files.keys()].filter((file) => file.startsWith('value-sets-'))
  const whole = [...packageFilesOf(made).get('value-sets.json')!].length
  expect([files.has('value-sets.json'), parts.length]).toEqual([false, Math.ceil(whole / 2_000)])
  const read: string[] = []
  const opened = new PackageReader(
    {
      ...{ name: 'a', version: '1', isThere: async () => true },
      async read(file) {
        read.push(file)
        return files.get(file)
      },
    },
    (text) => expect(text).toBeUndefined(),
  )
  const url = urls[77]!
  expect((await opened.part('value-sets', url))[url]).toEqual(valueSets[url])
  expect(await opened.part('code-systems', url)).toEqual({})
  expect(read).toEqual(['package.json', `value-sets-${shardOf(url, parts.length)}.json`, 'code-systems.json'])
  for (const each of urls) expect((await opened.part('value-sets', each))[each]).toEqual(valueSets[each])
  expect(new Set(read).size).toBe(read.length)
})

it('the part is chosen by FNV-1a, so every version of the server finds it', () => {
  expect([shardOf('', 1_000), shardOf('a', 1_000), shardOf('foobar', 1_000)]).toEqual([
    0x811c9dc5 % 1_000,
    0xe40c292c % 1_000,
    0xbf9cf968 % 1_000,
  ])
})

it.each(['a@1.0', 'a', 'a@', '@1.0', 'a@1.0@2', '../a@1.0', 'a@x'])('a package label consists of one name and one version: %s', (text) => {
  expect(parseLabel(text)).toEqual(text === 'a@1.0' ? { name: 'a', version: '1.0' } : undefined)
})

describe('two definitions of one canonical URL', () => {
  const url = 'http://example.org/twice'
  const valueSet = (more: object) => ({ resourceType: 'ValueSet', url, compose: { include: [{ system: url }] }, ...more }) as Resource
  const profile = (type: string, more: object) =>
    ({
      resourceType: 'StructureDefinition',
      url,
      type,
      baseDefinition: 'b',
      differential: { element: [{ path: type, min: 1 }] },
      ...more,
    }) as Resource
  const both = (...definitions: readonly Resource[]) =>
    [definitions, definitions.toReversed()].map((each) => buildPackage({ name: 'a', version: '1' }, each, () => false, comparePrecedence))

  it('are reduced to the preferred version in any order, and the other is reported', () => {
    for (const { content, leftOut } of both(
      valueSet({ version: '1.9.0' }),
      valueSet({ version: '1.10.0' }),
      valueSet({ version: '2', status: 'retired' }),
    )) {
      expect(content.valueSets[url]?.version).toBe('1.10.0')
      expect(leftOut.toSorted((a, b) => (a.reason < b.reason ? -1 : 1))).toEqual([
        { url, reason: 'That of version 1.9.0 does not count beside that of version 1.10.0' },
        { url, reason: 'That of version 2 does not count beside that of version 1.10.0' },
      ])
    }
  })

  it('are reduced to one even if they are profiles of different types', () => {
    for (const { content, leftOut } of both(profile('Patient', { version: '2' }), profile('Basic', {}))) {
      expect(Object.entries(content.profiles).flatMap(([type, file]) => Object.keys(file).map(() => type))).toEqual(['Patient'])
      expect(leftOut).toEqual([{ url, reason: 'That of no version does not count beside that of version 2' }])
    }
  })

  it('are reduced to the first if their versions are equal', () => {
    const [first] = both(valueSet({ version: '1' }), valueSet({ version: '1', compose: { include: [{ system: 'other' }] } }))
    expect(first!.content.valueSets[url]?.include).toEqual([{ system: url }])
    expect(first!.leftOut).toEqual([{ url, reason: 'That of version 1 is there more than once: the first counts' }])
  })
})

/**
 * Which profiles of a tenant's own are named: which count, how much is looked at, how often, and what happens where something cannot be
 * read.
 */
import { describe, expect, it } from '@jest/globals'
import { mergeProfiles, tenantProfiles } from '../../../lambdas/interactions/validation/tenant-profiles.ts'
import { MachineFault } from '../../../lambdas/ports/faults.ts'
import type { DamagedVersion, ResourceVersion, ScanPage } from '../../../lambdas/ports/store/resource-store.ts'

const urlOf = (name: string): string => `http://example.org/${name}`

let written = 0
/** Of Patient. */
const profile = (name: string, more: object = {}, body?: Uint8Array): ResourceVersion => {
  const said = {
    ...{
      resourceType: 'StructureDefinition',
      url: urlOf(name),
      status: 'active',
      kind: 'resource',
      type: 'Patient',
      derivation: 'constraint',
    },
    ...{
      differential: { element: [{ id: 'Patient', path: 'Patient' }] },
      baseDefinition: 'http://hl7.org/fhir/StructureDefinition/Patient',
      ...more,
    },
  }
  const key = { tenant: 't', type: 'StructureDefinition', id: `${name}-${++written}`, versionId: 1 }
  return { ...key, lastUpdated: written, deleted: false, compartments: [], body: body ?? Buffer.from(JSON.stringify(said)) }
}

type Given = { state: string; pages: readonly ScanPage[] | Error; packaged: readonly string[]; packages: string }

/** As it is given when it is asked; `scans`, `read`: which pages, and which bodies. */
function of(pages: Given['pages'], more: Partial<Given> = {}) {
  const given: Given = { state: '1', pages, packaged: [], packages: '', ...more }
  const warned: string[] = []
  const read: string[] = []
  let scans = 0
  const watched = (version: ResourceVersion): ResourceVersion => ({
    ...version,
    get body() {
      read.push(version.id)
      return version.body
    },
  })
  async function* scan(): AsyncGenerator<ScanPage> {
    if (given.pages instanceof Error) throw given.pages
    for (const page of given.pages) {
      scans++
      yield { ...page, versions: page.versions.map(watched) }
    }
  }
  const packages = {
    profile: async (url: string) =>
      given.packaged.includes(url) ? { url, type: 'Patient', isWhole: true, elements: [], isRetired: true as const } : undefined,
    state: async () => given.packages,
  }
  const parts = { packages, canonicals: { state: async () => given.state }, resources: { scan }, warn: (line: string) => warned.push(line) }
  const asked = tenantProfiles(parts)
  const named = async (type = 'Patient', tenant = 't'): Promise<readonly string[]> =>
    [...((await asked(tenant)).get(type) ?? [])].map((url) => url.replace(urlOf(''), '')).toSorted()
  return { given, named, warned, read, scans: () => scans }
}

const page = (...versions: readonly ResourceVersion[]): ScanPage => ({ versions })

describe('Profiles of a tenant’s own', () => {
  it('are listed by type if they are used', async () => {
    const own = of([
      page(profile('a'), profile('b', { type: 'Basic' }), profile('c', { kind: 'logical' }), profile('d', { status: 'draft' })),
      page(profile('e', { status: 'retired' }), profile('f', { url: undefined }), profile('g', { url: `${urlOf('g')}|1` })),
      page(
        profile('h', { url: urlOf('h'.repeat(2_000)) }),
        profile('i', { fhirVersion: '5.0.0' }),
        profile('j', { derivation: undefined }),
      ),
    ])
    expect([await own.named(), await own.named('Basic')]).toEqual([['a', 'd'], ['b']])
  })

  it('are listed once, by the version that is used', async () => {
    const older = profile('a', { version: '1', type: 'Basic' })
    const own = of([
      page(profile('a', { version: '2' }), older, profile('a', { version: '3', status: 'retired' })),
      page(profile('b', { version: '2', fhirVersion: '5.0.0' }), profile('b', { version: '1' })),
    ])
    expect([await own.named(), await own.named('Basic')]).toEqual([['a'], []])
  })

  it('are not listed while packages have the canonical URL, retired or not', async () => {
    const own = of([page(profile('a'), profile('b'))], { packaged: [urlOf('a')] })
    expect(await own.named()).toEqual(['b'])
    Object.assign(own.given, { packaged: [], packages: '2' })
    expect(await own.named()).toEqual(['a', 'b'])
  })

  it('are scanned once after each change, and each version is read once', async () => {
    const [a, b, c] = [profile('a'), profile('b'), profile('c')]
    const own = of([page(a, b)])
    expect([await own.named(), await own.named(), own.scans()]).toEqual([['a', 'b'], ['a', 'b'], 1])
    const before = own.read.length
    Object.assign(own.given, { state: '2', pages: [page(c, a)] })
    expect([await own.named(), await own.named(), own.scans()]).toEqual([['a', 'c'], ['a', 'c'], 2])
    // Of one that is known only the size is asked for.
    const again = own.read.slice(before)
    expect([again.filter((id) => id === a.id).length, again.filter((id) => id === c.id).length > 1]).toEqual([1, true])
  })

  it('are separate per tenant, also for equal ids', async () => {
    const a = profile('a')
    const own = of([page(a)])
    const ofOther = await own.named()
    Object.assign(own.given, { state: '2', pages: [page({ ...profile('b'), id: a.id, tenant: 'u' })] })
    expect([ofOther, await own.named('Patient', 'u')]).toEqual([['a'], ['b']])
  })

  it('are not scanned without any definition', async () => {
    const own = of([page(profile('a'))], { state: '' })
    expect([await own.named(), own.scans()]).toEqual([[], 0])
  })

  it('are limited to the latest 500 definitions', async () => {
    const all = Array.from({ length: 600 }, (_, i) => profile(`p${i}`))
    const own = of(Array.from({ length: 6 }, (_, i) => page(...all.slice(i * 100, i * 100 + 100))))
    expect(await own.named()).toEqual(
      all
        .slice(0, 500)
        .map((_, i) => `p${i}`)
        .toSorted(),
    )
    const many = of([...Array.from({ length: 30 }, () => page()), page(profile('a'))])
    expect([await many.named(), many.scans()]).toEqual([[], 20])
  })

  it('are limited to 50 MB', async () => {
    const large = (): ResourceVersion => profile('large', {}, Buffer.alloc(24_000_000, 32))
    const own = of([page(profile('a'), large(), large(), profile('b')), page(large(), profile('c'))])
    expect(await own.named()).toEqual(['a', 'b'])
  })

  it('are listed without damaged versions, which are logged', async () => {
    const { body: _, lastUpdated: __, compartments: ___, ...key } = profile('a')
    const damaged: DamagedVersion = { ...key, damage: new MachineFault('store-damaged', 'StructureDefinition/a is damaged') }
    const own = of([{ ...page(profile('b')), damaged: [damaged] }])
    expect([await own.named(), await own.named(), own.warned]).toEqual([['b'], ['b'], ['StructureDefinition/a is damaged']])
    const all = of(new MachineFault('store-damaged', 'The store is damaged'))
    expect([await all.named(), all.warned]).toEqual([[], ['The store is damaged']])
  })

  it('are scanned again after a machine fault', async () => {
    const own = of(new MachineFault('unavailable', 'no disk'))
    await expect(own.named()).rejects.toThrow('no disk')
    own.given.pages = [page(profile('a'))]
    expect(await own.named()).toEqual(['a'])
  })

  it('are merged with those of packages', async () => {
    const [some, own] = [
      new Map([['Patient', new Set(['a', 'b'])]]),
      new Map([
        ['Patient', new Set(['b', 'c'])],
        ['Basic', new Set(['d'])],
      ]),
    ]
    const both = await mergeProfiles(
      async () => some,
      async () => own,
    )('t')
    expect([...both].map(([type, canonicals]) => [type, ...canonicals])).toEqual([
      ['Patient', 'a', 'b', 'c'],
      ['Basic', 'd'],
    ])
    expect([...some.get('Patient')!]).toEqual(['a', 'b'])
  })
})

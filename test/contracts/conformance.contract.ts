/** What lambdas/ports/definitions/conformance.ts promises, as tests: every adapter runs this suite. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Resource } from '../../lambdas/fhir/resource.ts'
import type { Conformance } from '../../lambdas/ports/definitions/conformance.ts'

export type ConformanceUnderTest = {
  readonly conformance: Conformance
  /** Loads definitions, which count from then on; gives what takes them away again. */
  readonly load: (definitions: readonly Resource[]) => Promise<() => Promise<void>>
  readonly close: () => Promise<void>
}

const BASE = 'http://example.org/contract'

const structure = (name: string, version: string, more: object = {}): Resource => ({
  ...{ resourceType: 'StructureDefinition', url: `${BASE}/${name}`, version, name, status: 'active', kind: 'resource', abstract: false },
  ...{ type: 'Basic', derivation: 'constraint', baseDefinition: 'http://hl7.org/fhir/StructureDefinition/Basic', fhirVersion: '4.0.1' },
  differential: { element: [{ id: 'Basic.subject', path: 'Basic.subject', min: 1 }] },
  ...more,
})
const valueSet = (name: string, version: string, codes: readonly string[]): Resource => ({
  ...{ resourceType: 'ValueSet', url: `${BASE}/${name}`, version, status: 'active' },
  compose: { include: [{ system: BASE, concept: codes.map((code) => ({ code })) }] },
})
const codeSystem = (name: string): Resource => ({
  ...{ resourceType: 'CodeSystem', url: `${BASE}/${name}`, version: '1.0.0', status: 'active', content: 'complete' },
  concept: [{ code: 'a', concept: [{ code: 'b' }] }],
})

export function conformanceContract(name: string, create: () => Promise<ConformanceUnderTest>): void {
  let here: ConformanceUnderTest
  beforeAll(async () => {
    here = await create()
  })
  afterAll(() => here?.close())

  const versionOf = async (canonical: string) => (await here.conformance.profile(`${BASE}/${canonical}`))?.version

  describe(`${name}: a definition`, () => {
    it('is found by canonical URL, with or without version, while it is loaded', async () => {
      expect(await versionOf('found')).toBeUndefined()
      const takeAway = await here.load([structure('found', '1.0.0'), valueSet('colors', '1.0.0', ['red']), codeSystem('system')])
      expect([await versionOf('found'), await versionOf('found|1.0.0'), await versionOf('found|1.0')]).toEqual([
        '1.0.0',
        '1.0.0',
        undefined,
      ])
      expect((await here.conformance.valueSet(`${BASE}/colors`))?.include).toEqual([{ system: BASE, codes: ['red'] }])
      expect((await here.conformance.codeSystem(`${BASE}/system`))?.codes).toEqual({ a: [], b: ['a'] })
      expect([await here.conformance.valueSet(`${BASE}/found`), await here.conformance.profile(`${BASE}/colors`)]).toEqual([
        undefined,
        undefined,
      ])
      await takeAway()
      expect([await versionOf('found'), await here.conformance.codeSystem(`${BASE}/system`)]).toEqual([undefined, undefined])
    })

    it('resolves to its newest version, retired ones last, and to each version by number', async () => {
      const versions = ['1.9.0', '1.10.0', '1.10.0-ballot', '0.1.0']
      const taken = [await here.load([structure('versions', '2.0.0', { status: 'retired' })])]
      expect(await here.conformance.profile(`${BASE}/versions`)).toMatchObject({ version: '2.0.0', isRetired: true })
      for (const version of versions) taken.push(await here.load([structure('versions', version)]))
      expect(await versionOf('versions')).toBe('1.10.0')
      for (const version of [...versions, '2.0.0']) expect(await versionOf(`versions|${version}`)).toBe(version)
      for (const takeAway of taken) await takeAway()
    })

    it('takes precedence if it is part of R4; others are found by version', async () => {
      const url = 'http://hl7.org/fhir/ValueSet/administrative-gender'
      const takeAway = await here.load([{ ...valueSet('', '9.0.0', ['x']), url }])
      expect((await here.conformance.valueSet(url))?.version).toBe('4.0.1')
      expect((await here.conformance.valueSet(`${url}|9.0.0`))?.include).toEqual([{ system: BASE, codes: ['x'] }])
      await takeAway()
    })

    it('changes the state on loading and removal, and only then', async () => {
      const states = [await here.conformance.state(), await here.conformance.state()]
      const takeAway = await here.load([structure('state', '1.0.0')])
      states.push(await here.conformance.state(), await here.conformance.state())
      await takeAway()
      states.push(await here.conformance.state())
      expect([states[0] === states[1], states[2] === states[3], new Set(states).size]).toEqual([true, true, 3])
      expect(here.conformance.damage()).toEqual([])
    })
  })
}

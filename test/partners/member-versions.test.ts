/** Provenances as a partner with a member in context sees them. */
import { describe, expect, it } from '@jest/globals'
import type { Access } from '../../lambdas/access/access.ts'
import { withShownTargets } from '../../lambdas/partners/member-versions.ts'
import type { ResourceKey } from '../../lambdas/ports/store/resource-store.ts'
import { TEST_SEARCH_CONTEXT } from '../fixtures/exporting.ts'
import { referenceTo } from '../fixtures/resources.ts'
import { resourceKeyOf, versionOf, writeOf } from '../fixtures/versions.ts'

const ACCESS: Access = {
  clauses: [{ type: '*', letters: ['r'], query: '', within: ['Patient/ann'] }],
  isAdministrator: false,
  context: 'system',
}

const provenance = (id: string, ...targets: readonly string[]) => {
  const body = { resourceType: 'Provenance', id, target: targets.map(referenceTo) }
  return versionOf(
    writeOf(resourceKeyOf('t', 'Provenance', id), { body, compartments: targets.filter((name) => name.startsWith('Patient/')) }),
  )
}

const PAGE = [
  provenance('one', 'Patient/ann', 'Observation/shown', 'Observation/hidden'),
  provenance('two', 'Patient/ann', 'Observation/hidden', 'Observation/shown'),
  provenance('others', 'Patient/ann', 'Patient/bert'),
]

/** Returns the versions that stay, with the targets that were read. `hidden`: ids of resources that the partner may not read. */
async function readPage(hidden: readonly string[], options: { readonly showsNone?: true } = {}) {
  const read: string[] = []
  const visible = async (keys: readonly ResourceKey[]) => {
    read.push(...keys.map(({ type, id }) => `${type}/${id}`))
    return keys.map((key) => (hidden.includes(key.id) ? undefined : versionOf(writeOf(key))))
  }
  const shown = await withShownTargets(ACCESS, TEST_SEARCH_CONTEXT, PAGE, { visible, ...options })
  return { shown, read }
}

it('reads each target of a page once', async () => {
  const { shown, read } = await readPage(['hidden'])
  const target = ['Patient/ann', 'Observation/shown'].map(referenceTo)
  expect(shown.map((version) => version && JSON.parse(Buffer.from(version.body).toString()).target)).toEqual([target, target, undefined])
  expect(read).toEqual(['Patient/ann', 'Observation/shown', 'Observation/hidden'])
})

it('shows no entity, narrative or contained resource that names a hidden resource', async () => {
  const visible = async (keys: readonly ResourceKey[]) => keys.map((key) => (key.id === 'hidden' ? undefined : versionOf(writeOf(key))))
  const body = {
    ...{ resourceType: 'Provenance', id: 'of-load', target: [referenceTo('Patient/ann')], text: { div: 'hidden' } },
    contained: [{ resourceType: 'Organization', id: 'bank' }],
    entity: [
      { what: referenceTo('Observation/shown') },
      { what: referenceTo('Observation/hidden'), agent: [{ who: referenceTo('#bank') }] },
    ],
  }
  const version = versionOf(writeOf(resourceKeyOf('t', 'Provenance', 'of-load'), { body, compartments: ['Patient/ann'] }))
  const [shown] = await withShownTargets(ACCESS, TEST_SEARCH_CONTEXT, [version], { visible })
  const { contained: _, text: __, ...rest } = body
  expect(JSON.parse(Buffer.from(shown!.body).toString())).toEqual({ ...rest, entity: [body.entity[0]] })
})

describe('for Provenances that no response has', () => {
  it('reads only the member, and keeps all targets', async () =>
    expect(await readPage(['hidden'], { showsNone: true })).toEqual({ shown: [PAGE[0], PAGE[1], undefined], read: ['Patient/ann'] }))

  it('reads the other targets if the member is hidden', async () =>
    expect((await readPage(['ann', 'hidden'], { showsNone: true })).shown).toEqual([PAGE[0], PAGE[1], undefined]))

  it('keeps none without a shown target', async () =>
    expect((await readPage(['ann', 'hidden', 'shown'], { showsNone: true })).shown).toEqual([undefined, undefined, undefined]))
})

/** Searches that also find shared definitions. test/contracts/shared-index.contract.ts tests their results. */
import { expect, it } from '@jest/globals'
import { SqliteSearchIndex } from '../../../lambdas/adapters/sqlite-index/search-index.ts'
import { sharedIndex } from '../../../lambdas/interactions/searching/shared-index.ts'
import { ALWAYS_TRUE, not, type Plan, type Predicate } from '../../../lambdas/ports/search/plan.ts'
import type { CustomMapping } from '../../../lambdas/search/custom-mapping.ts'
import { document } from '../../contracts/index-document.ts'
import { runAtEnd } from '../../fixtures/at-end.ts'

const READING = {
  baseUrl: 'http://127.0.0.1/fhir',
  timeZone: 'UTC',
  custom: [{ field: 'mine~1', tenant: 'north' }, { field: 'packaged~1' }] as unknown as readonly CustomMapping[],
}

async function foundBy(plan: Partial<Plan>): Promise<string> {
  const index = new SqliteSearchIndex(':memory:')
  runAtEnd(() => index.close())
  const definition = (tenant: string) => document({ tenant, type: 'ValueSet', id: tenant, keys: { '_id:code': [tenant] } })
  await index.apply([definition('north'), definition('commons')])
  const both = sharedIndex(index, { tenant: 'north', sharedTenant: 'commons', reading: READING })
  const all: Plan = { tenant: 'north', types: ['ValueSet'], where: ALWAYS_TRUE, access: 'everything', order: [], limit: 9, total: 'none' }
  return (await both.find({ ...all, ...plan })).hits.map(({ id }) => id).join(' ')
}

const unless = (field: string): Predicate => not({ kind: 'key', field, oneOf: ['x'] })

it('A search by a custom parameter of the tenant finds its own definitions only', async () => {
  expect([await foundBy({}), await foundBy({ where: unless('packaged~1:code') })]).toEqual(['commons north', 'commons north'])
  expect([
    await foundBy({ where: unless('mine~1') }),
    await foundBy({ where: unless('mine~1:code') }),
    await foundBy({ access: { ValueSet: unless('mine~1:code') } }),
    await foundBy({ order: [{ field: 'mine~1', descending: true }] }),
  ]).toEqual(['north', 'north', 'north', 'north'])
})

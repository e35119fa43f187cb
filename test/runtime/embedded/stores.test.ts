/** The stores of the embedded deployment: an index without documents starts with the definitions of all tenants. */
import { join } from 'node:path'
import { expect, it } from '@jest/globals'
import { openStores, type Stores } from '../../../lambdas/runtime/embedded/stores.ts'
import { newFolder } from '../../fixtures/at-end.ts'
import { resourceKeyOf, writeOf } from '../../fixtures/versions.ts'

const open = (folder: string, index: string): Promise<Stores> =>
  openStores({
    path: (name) => join(folder, name === 'index.db' ? index : name),
    now: () => Date.now(),
    reading: {},
    budget: 10_000,
    report: () => undefined,
  })

it('A new index first reports the definitions of every tenant, which are active already', async () => {
  const folder = newFolder()
  const first = await open(folder, 'first.db')
  for (const tenant of ['default', 'another', 'third']) {
    const body = {
      resourceType: 'SearchParameter', id: 'x', url: 'x', status: 'active', code: 'x', base: ['Patient'], type: 'string',
      expression: 'Patient.name.family',
    } // biome-ignore format: one resource
    await first.store.commit([writeOf(resourceKeyOf(tenant, 'SearchParameter', 'x'), { body })], [])
  }
  await first.close()
  const second = await open(folder, 'second.db')
  const told = await second.definitions.whenKnown(async () => second.definitions.now().definitions)
  expect(told.map(({ tenant, state }) => `${tenant} ${state}`)).toEqual(['default active', 'another active', 'third active'])
  await second.close()
})

/** Reads the index state of an AWS deployment for one tenant: its progress, and its custom parameters. */
import type { IndexProgress, RegisteredParameter } from '../../ports/search/index-status.ts'
import type { CapacityUser } from '../../search/custom/custom-parameter-limits.ts'
import { packageParametersIn } from '../all-tenants.ts'
import type { CustomParameter } from '../custom-definitions.ts'
import { readIndexState, type StoredReader } from './known-state.ts'
import type { ServingDetails } from './serving-summary.ts'
import { statusOf } from './status.ts'
import { decode } from './stored-state.ts'
import { decodeRow, KINDS, mergeEntries } from './tenant-rows.ts'

export const progressOf = (stored: StoredReader): IndexProgress => ({
  async status(tenant) {
    const scope = { definitions: [tenant], poisoned: [tenant], rebuilds: [tenant] }
    return statusOf((await readIndexState(stored, scope)).value, tenant)
  },
  async parameters(tenant) {
    const { definitions, elsewhere = [] } = (await readIndexState(stored, { definitions: [tenant], capacity: true })).value
    return [...definitions, ...elsewhere.map(sharedParameterOf)]
  },
})

/** Returns a custom parameter of any other tenants, as far as it uses capacity. */
const sharedParameterOf = (mapping: CapacityUser): RegisteredParameter => ({
  ...{ tenant: '', id: '', state: 'active' },
  mapping: { ...mapping, code: '' },
})

export const servingDetailsOf = (stored: StoredReader): ServingDetails => ({
  async whole() {
    const root = await stored.root()
    return { value: decode(root.value), stamps: root }
  },
  async definitionsOf(tenant, { value, stamps }) {
    const inRoot = value.definitions.filter((each) => each.tenant === tenant)
    const packaged = packageParametersIn(value)
    if (!value.rows) return [...packaged, ...inRoot]
    const [row] = await stored.rows([{ kind: KINDS.definitions, owner: tenant }], stamps)
    return [...packaged, ...(mergeEntries('definitions', decodeRow('definitions', tenant, row, {}), inRoot) as readonly CustomParameter[])]
  },
})

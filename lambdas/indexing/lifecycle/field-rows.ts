/**
 * Rows that count the index fields of the custom parameters in the rows of all tenants, because tenants share the fields of an index. Each
 * holds some types: type → field → its search type, and how many custom parameters have it. Pure functions.
 */
import { hashOf } from '../../ports/store/fnv-hash.ts'
import type { CapacityUser } from '../../search/custom/custom-parameter-limits.ts'

export const FIELDS_KIND = 'F'
/** A write changes all of these rows if a custom parameter is on all types, and has room for rows of tenants. */
const ROWS = 32

export type FieldCounts = Readonly<Record<string, Readonly<Record<string, readonly [type: string, count: number]>>>>

export const FIELD_OWNERS: readonly string[] = Array.from({ length: ROWS }, (_, row) => String(row))

/** Returns the owner of the row with the fields of the type. */
export const fieldOwnerOf = (base: string): string => String(hashOf(base) % ROWS)

/** Number of custom parameters by type and field that a change adds; negative: removes. */
export class FieldChanges {
  readonly #changes = new Map<string, { readonly user: CapacityUser; count: number }>()

  add(users: readonly CapacityUser[], sign: 1 | -1): void {
    for (const user of users) {
      const name = `${user.base} ${user.field}`
      const known = this.#changes.get(name)
      if (known === undefined) this.#changes.set(name, { user, count: sign })
      else known.count += sign
    }
  }

  /** Returns the owners of the rows that change. */
  owners(): readonly string[] {
    return [...new Set(this.#made().map(({ user: { base } }) => fieldOwnerOf(base)))]
  }

  /** Returns the row of this owner after the change. */
  applyTo(owner: string, counts: FieldCounts): FieldCounts {
    const after: Record<string, Record<string, readonly [string, number]>> = {}
    for (const [base, fields] of Object.entries(counts)) after[base] = { ...fields }
    for (const { user, count } of this.#made()) {
      const { base, field, type } = user
      if (fieldOwnerOf(base) !== owner) continue
      const fields = after[base] ?? {}
      after[base] = fields
      const sum = (fields[field]?.[1] ?? 0) + count
      if (sum > 0) fields[field] = [type, sum]
      else delete fields[field]
    }
    return after
  }

  #made() {
    return [...this.#changes.values()].filter(({ count }) => count !== 0)
  }
}

/** Returns each counted field once. `but`: custom parameters that are not counted. */
export function capacityUsersOf(rows: readonly FieldCounts[], but: readonly CapacityUser[]): readonly CapacityUser[] {
  const own = new Map<string, number>()
  for (const { base, field } of but) own.set(`${base} ${field}`, (own.get(`${base} ${field}`) ?? 0) + 1)
  return rows.flatMap((row) =>
    Object.entries(row).flatMap(([base, fields]) =>
      Object.entries(fields).flatMap(([field, [type, count]]) =>
        count > (own.get(`${base} ${field}`) ?? 0) ? [{ base, field, type }] : [],
      ),
    ),
  )
}

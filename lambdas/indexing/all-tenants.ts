/** Parts of the index state that belong to all tenants: rebuilds, and the parameters of packages. */

export const ALL_TENANTS = ''

export const packageParametersIn = <Parameter extends { readonly tenant: string }>({
  definitions,
}: {
  readonly definitions: readonly Parameter[]
}): readonly Parameter[] => definitions.filter(({ tenant }) => tenant === ALL_TENANTS)

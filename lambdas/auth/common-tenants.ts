/** Those that both have; `*`: any. */
export function commonTenants(some: readonly string[], others: readonly string[]): readonly string[] {
  if (some.includes('*')) return others
  return others.includes('*') ? some : some.filter((tenant) => others.includes(tenant))
}

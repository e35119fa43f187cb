import { isListOutdated, registerPackages } from '../../../indexing/lifecycle/registered-packages.ts'
import { readSearchParameters } from '../../../packages/package-search-parameters.ts'
import { mappingsOf, resolvePackageParameters } from '../../../search/custom/package-parameters.ts'
import { warn } from '../log.ts'
import { addedPackages, clock, indexState } from '../ports.ts'

/** Registers the search parameters of the added packages in the index state, if the list of packages has changed. */
export async function registerAddedPackages(): Promise<void> {
  const { state: list, packages } = await addedPackages().now()
  if (!isListOutdated((await indexState().read()).value, list)) return
  const wanted = mappingsOf(resolvePackageParameters(await readSearchParameters(packages, warn)))
  await indexState().change((state) => registerPackages(state, wanted, list, clock().now()), { capacity: true })
}

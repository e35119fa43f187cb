/** Parsing of stored versions. Errors of the parser quote the body, so they are dropped. */
import { parseJsonBytes } from '../../fhir/json.ts'
import type { Resource } from '../../fhir/resource.ts'
import { MachineFault } from '../../ports/faults.ts'
import type { ResourceVersion } from '../../ports/store/resource-store.ts'

/** Returns the parsed resource. Throws the fault `store-damaged` if the body is not JSON. */
export const resourceOf = ({ body }: Pick<ResourceVersion, 'body'>): Resource => parsed(() => parseJsonBytes(body) as Resource)

/** Like `resourceOf`, but with decimals as numbers: faster, for callers that use only texts. */
export const parsePlainBody = (body: Buffer): unknown => parsed(() => JSON.parse(body.toString('utf8')))

function parsed<Tree>(parse: () => Tree): Tree {
  try {
    return parse()
  } catch {
    throw new MachineFault('store-damaged', 'a stored resource is not JSON')
  }
}

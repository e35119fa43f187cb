/** What a stored version holds. What a parser says of a body that is none quotes it, so nobody is told. */
import { parseJsonBytes } from '../../fhir/json.ts'
import type { Resource } from '../../fhir/resource.ts'
import { Damaged } from '../../ports/faults/damaged.ts'
import type { ResourceVersion } from '../../ports/store/resource-store.ts'

/** Damaged where it holds no JSON. */
export const resourceOf = ({ body }: Pick<ResourceVersion, 'body'>): Resource => parsed(() => parseJsonBytes(body) as Resource)

/** As `resourceOf`, with decimals as numbers, which takes less time: for who reads texts. */
export const parsePlainBody = (body: Buffer): unknown => parsed(() => JSON.parse(body.toString('utf8')))

function parsed<Tree>(parse: () => Tree): Tree {
  try {
    return parse()
  } catch {
    throw new Damaged('store', 'what is stored of a resource is no JSON')
  }
}

/** Evaluates search plans on versions of the store, for conditional interactions that cannot rely on the index alone. */
import { parseJsonBytes } from '../../fhir/json.ts'
import type { Resource } from '../../fhir/resource.ts'
import type { ExpressionRunner } from '../../ports/execution/expression-runner.ts'
import { type Plan, predicateOf, ruleOf } from '../../ports/search/plan.ts'
import type { Hit, IndexDocument } from '../../ports/search/search-index.ts'
import type { ResourceVersion } from '../../ports/store/resource-store.ts'
import { evaluateAhead } from '../../search/custom/batch-evaluation.ts'
import { extract } from '../../search/documents/extract.ts'
import { matchesPredicate, sortPositionOf } from '../../search/evaluate.ts'
import type { SearchContextOf } from '../../search/search-context.ts'
import { nameOf } from '../resources/request-key.ts'
import { checkFullyEvaluated } from './fully-evaluated-index.ts'

export type EvaluationParts = { readonly expressions: ExpressionRunner; readonly reading: SearchContextOf }

/**
 * Version of a resource with the index document for it. `document`: absent for a deletion. `failed`: codes of custom parameters without values,
 * because their evaluation failed.
 */
export type EvaluatedVersion = {
  readonly type: string
  readonly name: string
  readonly failed: readonly string[]
  readonly document?: IndexDocument
}

export async function evaluateVersions(
  parts: EvaluationParts,
  tenant: string,
  versions: readonly ResourceVersion[],
): Promise<readonly EvaluatedVersion[]> {
  const reading = parts.reading(tenant)
  const resources = versions.map(({ deleted, body }) => (deleted ? undefined : (parseJsonBytes(body) as Resource)))
  await evaluateAhead(
    resources.filter((each) => each !== undefined),
    reading,
    parts.expressions,
  )
  return versions.map((version, i) => {
    const [type, name, resource, failed] = [version.type, nameOf(version), resources[i], [] as string[]]
    if (resource === undefined) return { type, name, failed }
    const document = extract(version, resource, reading, (code) => failed.push(code))
    return { type, name, failed, document: { ...document, body: NO_BODY } }
  })
}

/** Takes the place of the body of a document, to save memory: matching needs no body. */
const NO_BODY = new Uint8Array()

export function hitOf({ document }: EvaluatedVersion, plan: Plan): readonly Hit[] {
  if (document === undefined || !matchesPredicate(predicateOf(plan, document.type), document)) return []
  const { type, id, version } = document
  return [{ type, id, version, position: sortPositionOf(document, plan.order) }]
}

/** Throws FhirError 403 if the plan uses a custom parameter without values of one of these versions that the caller may find. */
export function checkVersions(plan: Plan, versions: readonly EvaluatedVersion[]): void {
  // guard: recent-writes-apply-access
  for (const { type, failed, document } of versions)
    if (document !== undefined && failed.length > 0 && matchesPredicate(ruleOf(plan.access, type), document))
      checkFullyEvaluated(plan, type, (code) => failed.includes(code))
}

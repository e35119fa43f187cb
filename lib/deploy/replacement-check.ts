/**
 * Finds resources that CloudFormation would delete or replace although they must stay: stored data, and addresses that clients know.
 * CloudFormation's own schemas decide. https://www.npmjs.com/package/@aws-cdk/cloudformation-diff
 */
import { fullDiff, ResourceImpact } from '@aws-cdk/cloudformation-diff'

type Resource = {
  readonly Type: string
  readonly DeletionPolicy?: string
  readonly Properties?: Readonly<Record<string, unknown>>
}
export type StackTemplate = { readonly Resources: Readonly<Record<string, Resource>> }

const IN_PLACE: readonly string[] = [
  ResourceImpact.NO_CHANGE,
  ResourceImpact.WILL_UPDATE,
  ResourceImpact.WILL_CREATE,
  ResourceImpact.WILL_IMPORT,
]
const ADDRESSES = ['AWS::ApiGateway::RestApi', 'AWS::CloudFront::Distribution']

/**
 * Returns one line for each resource with data or an address that CloudFormation would delete or replace, for example `ResourceTable:
 * WILL_REPLACE`. It also returns a line for a domain that would enter or leave a VPC, which OpenSearch rejects.
 */
export function findReplacements(before: StackTemplate, after: StackTemplate): readonly string[] {
  const matters = (id: string): boolean => {
    const { Type = '', DeletionPolicy = 'Delete' } = before.Resources[id] ?? {}
    return DeletionPolicy !== 'Delete' || ADDRESSES.includes(Type)
  }
  const lines: string[] = []
  fullDiff({ ...before }, { ...after }).resources.forEachDifference((id, { changeImpact }) => {
    const advice = before.Resources[id]?.Properties?.ObjectLockEnabled === true ? ': set auditArchiveYears to 0 instead of removing it' : ''
    if (matters(id) && !IN_PLACE.includes(changeImpact)) lines.push(`${id}: ${changeImpact}${advice}`)
    if (matters(id) && isMovedIntoNetwork(before.Resources[id], after.Resources[id])) lines.push(`${id}: cannot move into a VPC`)
  })
  return lines
}

/**
 * Whether a domain would enter or leave a VPC. OpenSearch rejects that, but no schema says so:
 * https://docs.aws.amazon.com/opensearch-service/latest/developerguide/vpc.html#vpc-limitations
 */
function isMovedIntoNetwork(before: Resource | undefined, after: Resource | undefined): boolean {
  const isIn = (domain: Resource): boolean => domain.Properties?.VPCOptions !== undefined
  return before?.Type === 'AWS::OpenSearchService::Domain' && after !== undefined && isIn(before) !== isIn(after)
}

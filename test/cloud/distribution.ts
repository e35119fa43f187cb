/** What the template says of CloudFront: what it does with requests for the API, and with those for export files. */
import { createPublicKey } from 'node:crypto'
import type { AwsCalls, Tree } from './aws-calls.ts'
import type { Deployment } from './deploy.ts'
import type { FileBehaviour } from './files.ts'
import { unresolvedTextOf } from './firewall.ts'

/** `viewerFunction`: its code. `headers`: what CloudFront sends with every request to the API. */
export type Distribution = {
  readonly viewerFunction: string
  readonly headers: Readonly<Record<string, string>>
  readonly files: FileBehaviour
}

export async function distributionOf(aws: AwsCalls, { templates, resources }: Deployment): Promise<Distribution> {
  const [stack, template] = Object.entries(templates).find(([, { Resources }]) =>
    Object.values<Tree>(Resources).some(({ Type }) => Type === 'AWS::CloudFront::Distribution'),
  )!
  const all: Readonly<Record<string, Tree>> = template.Resources
  const { DistributionConfig } = Object.values(all).find(({ Type }) => Type === 'AWS::CloudFront::Distribution')!.Properties
  const { DefaultCacheBehavior, CacheBehaviors, Origins } = DistributionConfig
  const viewerFunctionOf = ({ FunctionAssociations }: Tree): string => {
    const code = all[FunctionAssociations[0].FunctionARN['Fn::GetAtt'][0]].Properties.FunctionCode
    if (typeof code !== 'string') throw new Error('the code of the viewer function is not text')
    return code
  }
  const [behaviour] = CacheBehaviors
  const groups: readonly string[] = behaviour.TrustedKeyGroups.map(({ Ref }: Tree) => Ref)
  const pairs: readonly string[] = groups.flatMap((id) => all[id].Properties.KeyGroupConfig.Items.map(({ Ref }: Tree) => Ref))
  const pem = async (pair: string): Promise<string> => {
    const keyProperties = all[all[pair].Properties.PublicKeyConfig.EncodedKey['Fn::GetAtt'][0]].Properties
    return publicKeyOf(aws, resources[stack]![keyProperties.KeyId.Ref]!)
  }
  const keys = await Promise.all(pairs.map(async (pair) => [pair, await pem(pair)] as const))
  const origin = Origins.find(({ Id }: Tree) => Id === behaviour.TargetOriginId)
  const bucket = resources[stack]![origin.DomainName['Fn::GetAtt'][0]]!
  const sent = (Origins[0].OriginCustomHeaders ?? []).map(({ HeaderName, HeaderValue }: Tree) => [
    HeaderName,
    unresolvedTextOf(HeaderValue),
  ])
  return {
    viewerFunction: viewerFunctionOf(DefaultCacheBehavior),
    headers: Object.fromEntries(sent),
    files: {
      pattern: patternOf(behaviour.PathPattern),
      viewerFunction: viewerFunctionOf(behaviour),
      // The function that tells them is asked by tests; here KMS itself is.
      keys: Object.fromEntries(keys),
      bucket: `${aws.endpoint}/${bucket}`,
    },
  }
}

/** https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/DownloadDistValuesCacheBehavior.html#DownloadDistValuesPathPattern */
const patternOf = (text: string): RegExp => new RegExp(`^${text.replace(/[.+^${}()|[\]\\]/g, '\\$&').replaceAll('*', '.*')}$`)

async function publicKeyOf(aws: AwsCalls, KeyId: string): Promise<string> {
  const { PublicKey } = await aws.json('kms', 'TrentService.GetPublicKey', { KeyId })
  return String(
    createPublicKey({ key: Buffer.from(PublicKey, 'base64'), format: 'der', type: 'spki' }).export({ format: 'pem', type: 'spki' }),
  )
}

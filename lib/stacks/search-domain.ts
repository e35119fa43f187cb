/** OpenSearch domain. All of its data can be rebuilt from the resource table. Deleting the stack retains it nevertheless. */
import { RemovalPolicy, Stack } from 'aws-cdk-lib'
import { EbsDeviceVolumeType, type IVpc, SubnetType } from 'aws-cdk-lib/aws-ec2'
import type { IKey } from 'aws-cdk-lib/aws-kms'
import { type CfnDomain, Domain, type DomainProps, EngineVersion, TLSSecurityPolicy } from 'aws-cdk-lib/aws-opensearchservice'
import type { Construct } from 'constructs'
import type { Settings } from '../settings/settings.ts'

export type DomainSize = Extract<Settings['search'], { kind: 'domain' }>['size']

export const DOMAIN_SIZES: Readonly<Record<DomainSize, Pick<DomainProps, 'capacity' | 'ebs' | 'zoneAwareness'>>> = {
  demo: {
    capacity: { dataNodes: 1, dataNodeInstanceType: 't3.small.search', multiAzWithStandbyEnabled: false },
    ebs: { volumeType: EbsDeviceVolumeType.GP3, volumeSize: 20 },
  },
  production: {
    capacity: { dataNodes: 3, dataNodeInstanceType: 'r7g.large.search', multiAzWithStandbyEnabled: false },
    ebs: { volumeType: EbsDeviceVolumeType.GP3, volumeSize: 200 },
    zoneAwareness: { availabilityZoneCount: 3 },
  },
}

/** Returns the number of nodes of the stage's domain and the gigabytes of each, or 0 if the stage uses another cluster. */
export function nodesOf(search: Settings['search']): { readonly nodes: number; readonly disk: number } {
  if (!('kind' in search)) return { nodes: 0, disk: 0 }
  const { capacity, ebs } = DOMAIN_SIZES[search.size]
  return { nodes: capacity?.dataNodes ?? 0, disk: ebs?.volumeSize ?? 0 }
}

export type SearchDomainProps = { readonly size: DomainSize; readonly stage: string; readonly key: IKey; readonly vpc?: IVpc }

export function createSearchDomain(scope: Construct, { size, stage, key, vpc }: SearchDomainProps): Domain {
  const { zoneAwareness, ...sized } = DOMAIN_SIZES[size]
  const zones = vpc === undefined || zoneAwareness === undefined ? zoneAwareness : { availabilityZoneCount: vpc.availabilityZones.length }
  const domain = new Domain(scope, 'SearchDomain', {
    version: EngineVersion.OPENSEARCH_3_7,
    // A change of the version upgrades the domain in place instead of replacing it.
    enableVersionUpgrade: true,
    ...sized,
    ...(zones === undefined ? {} : { zoneAwareness: zones }),
    encryptionAtRest: { enabled: true, kmsKey: key },
    nodeToNodeEncryption: true,
    enforceHttps: true,
    tlsSecurityPolicy: TLSSecurityPolicy.TLS_1_2_PFS,
    removalPolicy: RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
    ...(vpc === undefined ? {} : { vpc, vpcSubnets: [subnetsOf(vpc, size)] }),
  })
  // Set as a property. The construct would use an extra function to change the policy after the domain exists.
  ;(domain.node.defaultChild as CfnDomain).accessPolicies = accessPolicy(Stack.of(scope), stage)
  return domain
}

const subnetsOf = (vpc: IVpc, size: DomainSize) =>
  size === 'demo' ? { subnets: vpc.isolatedSubnets.slice(0, 1) } : { subnetType: SubnetType.PRIVATE_ISOLATED }

/** Permits the roles of the functions, and no other roles of the account. Each role limits what its function may do. */
const accessPolicy = ({ account, partition }: Stack, stage: string) => ({
  Version: '2012-10-17',
  Statement: [
    {
      Effect: 'Allow',
      Principal: { AWS: `arn:${partition}:iam::${account}:root` },
      Action: ['es:ESHttpGet', 'es:ESHttpPost', 'es:ESHttpPut', 'es:ESHttpDelete'],
      Resource: '*',
      Condition: { ArnLike: { 'aws:PrincipalArn': `arn:${partition}:iam::${account}:role${rolePathOf(stage)}*` } },
    },
  ],
})

/** Returns the path of all functions' roles in IAM. The domain's policy permits the path, so it needs no list of roles. */
export const rolePathOf = (stage: string): string => `/fhir-${stage}/`

/** The OpenSearch domain. It holds nothing that could not be made again from the table of resources; it is kept all the same. */
import { RemovalPolicy, Stack } from 'aws-cdk-lib'
import { EbsDeviceVolumeType, type IVpc, SubnetType } from 'aws-cdk-lib/aws-ec2'
import type { IKey } from 'aws-cdk-lib/aws-kms'
import { type CfnDomain, Domain, type DomainProps, EngineVersion, TLSSecurityPolicy } from 'aws-cdk-lib/aws-opensearchservice'
import type { Construct } from 'constructs'
import type { Settings } from '../settings/settings.ts'

type Size = Extract<Settings['search'], { kind: 'domain' }>['size']

const SIZES: Readonly<Record<Size, Pick<DomainProps, 'capacity' | 'ebs' | 'zoneAwareness'>>> = {
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

/** Gigabytes of each node. */
export const diskGigabytesOf = (search: Settings['search']): number => ('kind' in search ? (SIZES[search.size].ebs?.volumeSize ?? 0) : 0)

export type SearchDomainProps = { readonly size: Size; readonly stage: string; readonly key: IKey; readonly vpc?: IVpc }

export function createSearchDomain(scope: Construct, { size, stage, key, vpc }: SearchDomainProps): Domain {
  const { zoneAwareness, ...sized } = SIZES[size]
  const zones = vpc === undefined || zoneAwareness === undefined ? zoneAwareness : { availabilityZoneCount: vpc.availabilityZones.length }
  const domain = new Domain(scope, 'SearchDomain', {
    version: EngineVersion.OPENSEARCH_3_7,
    // Another version is an upgrade in place, not another domain.
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
  // As a property, because the construct would change it with a function of its own after the domain is there.
  ;(domain.node.defaultChild as CfnDomain).accessPolicies = accessPolicy(Stack.of(scope), stage)
  return domain
}

const subnetsOf = (vpc: IVpc, size: Size) =>
  size === 'demo' ? { subnets: vpc.isolatedSubnets.slice(0, 1) } : { subnetType: SubnetType.PRIVATE_ISOLATED }

/** The account decides, and of its roles only those of the functions: what each of them may do stands in its role. */
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

/** Of the roles of all functions, so that the domain can name them without knowing them. */
export const rolePathOf = (stage: string): string => `/fhir-${stage}/`

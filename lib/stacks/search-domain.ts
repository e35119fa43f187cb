/** OpenSearch domain. All of its data can be rebuilt from the resource table. Deleting the stack retains it nevertheless. */
import { RemovalPolicy, Stack } from 'aws-cdk-lib'
import { EbsDeviceVolumeType, type IVpc, SubnetType } from 'aws-cdk-lib/aws-ec2'
import type { IKey } from 'aws-cdk-lib/aws-kms'
import { type CfnDomain, Domain, EngineVersion, TLSSecurityPolicy } from 'aws-cdk-lib/aws-opensearchservice'
import type { Construct } from 'constructs'
import { type DomainSize, shapeOf } from '../settings/domain-sizes.ts'

export type SearchDomainProps = { readonly size: DomainSize; readonly stage: string; readonly key: IKey; readonly vpc?: IVpc }

export function createSearchDomain(scope: Construct, { size, stage, key, vpc }: SearchDomainProps): Domain {
  const { instanceType, count, disk, zones, masters } = shapeOf(size)
  const domain = new Domain(scope, 'SearchDomain', {
    version: EngineVersion.OPENSEARCH_3_7,
    // A change of the version upgrades the domain in place instead of replacing it.
    enableVersionUpgrade: true,
    capacity: {
      ...{ dataNodes: count, dataNodeInstanceType: instanceType, multiAzWithStandbyEnabled: false },
      ...(masters === undefined ? {} : { masterNodes: masters.count, masterNodeInstanceType: masters.instanceType }),
    },
    ebs: { volumeType: EbsDeviceVolumeType.GP3, volumeSize: disk },
    ...(zones === 1 ? {} : { zoneAwareness: { availabilityZoneCount: zones } }),
    encryptionAtRest: { enabled: true, kmsKey: key },
    nodeToNodeEncryption: true,
    enforceHttps: true,
    tlsSecurityPolicy: TLSSecurityPolicy.TLS_1_2_PFS,
    removalPolicy: RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
    ...(vpc === undefined ? {} : { vpc, vpcSubnets: [subnetsOf(vpc, zones)] }),
  })
  // Set as a property. The construct would use an extra function to change the policy after the domain exists.
  ;(domain.node.defaultChild as CfnDomain).accessPolicies = accessPolicy(Stack.of(scope), stage)
  return domain
}

const subnetsOf = (vpc: IVpc, zones: number) =>
  zones === 1 ? { subnets: vpc.isolatedSubnets.slice(0, 1) } : { subnetType: SubnetType.PRIVATE_ISOLATED }

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

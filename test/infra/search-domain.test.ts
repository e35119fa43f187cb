/** Nodes of the search domain by size, and the shards and replicas of the indices that functions create. */
import { expect, it } from '@jest/globals'
import { App, Stack } from 'aws-cdk-lib'
import { Template } from 'aws-cdk-lib/assertions'
import { type IVpc, SubnetType, Vpc } from 'aws-cdk-lib/aws-ec2'
import { Key } from 'aws-cdk-lib/aws-kms'
import { FUNCTIONS, type FunctionName } from '../../lambdas/functions/functions.ts'
import { type DomainShape, type DomainSize, nodesOf } from '../../lib/settings/domain-sizes.ts'
import { createSearchDomain } from '../../lib/stacks/search-domain.ts'
import { functionsOf } from './assembly.ts'
import { elsewhere, signed } from './stages.ts'

const NODES: DomainShape = { instanceType: 'r7g.xlarge.search', count: 4, disk: 500, zones: 2 }
const ALONE = { DedicatedMasterEnabled: false }
const MASTERS = { DedicatedMasterEnabled: true, DedicatedMasterCount: 3, DedicatedMasterType: 'r7g.large.search' }
const spread = (AvailabilityZoneCount: number) => ({ ZoneAwarenessEnabled: true, ZoneAwarenessConfig: { AvailabilityZoneCount } })

const SIZES: readonly (readonly [DomainSize, disk: number, cluster: object])[] = [
  ['demo', 20, { ...ALONE, InstanceCount: 1, InstanceType: 't3.small.search', ZoneAwarenessEnabled: false }],
  ['production', 200, { ...ALONE, InstanceCount: 3, InstanceType: 'r7g.large.search', ...spread(3) }],
  ['large', 600, { ...MASTERS, InstanceCount: 6, InstanceType: 'r7g.2xlarge.search', ...spread(3) }],
  [NODES, 500, { ...ALONE, InstanceCount: 4, InstanceType: 'r7g.xlarge.search', ...spread(2) }],
  [
    { ...NODES, masters: { instanceType: 'r7g.large.search', count: 3 } },
    ...([500, { ...MASTERS, InstanceCount: 4, InstanceType: 'r7g.xlarge.search', ...spread(2) }] as const),
  ],
]

it.each(SIZES)('The size %j has these nodes, disks and zones', (size, disk, cluster) => {
  const stack = new Stack(new App(), 'Data', { env: { account: '111111111111', region: 'us-east-1' } })
  createSearchDomain(stack, { size, stage: 'dev', key: new Key(stack, 'Key') })
  const [domain] = Object.values(Template.fromStack(stack).findResources('AWS::OpenSearchService::Domain'))
  expect(domain?.Properties.ClusterConfig).toEqual({ ...cluster, MultiAZWithStandbyEnabled: false })
  expect(domain?.Properties.EBSOptions).toEqual({ EBSEnabled: true, VolumeSize: disk, VolumeType: 'gp3' })
  const { InstanceCount: nodes, DedicatedMasterCount: masters = 0 } = domain!.Properties.ClusterConfig
  expect(nodesOf({ size })).toEqual({ nodes, masters, disk })
})

it.each([
  [NODES, 2],
  [{ ...NODES, zones: 1 }, 1],
])('The size %j is in %i subnets of a VPC', (size, subnets) => {
  const stack = new Stack(new App(), 'Data', { env: { account: '111111111111', region: 'us-east-1' } })
  const subnetConfiguration = [{ name: 'functions', subnetType: SubnetType.PRIVATE_ISOLATED }]
  const vpc: object = new Vpc(stack, 'Vpc', { availabilityZones: ['us-east-1a', 'us-east-1b'], subnetConfiguration })
  createSearchDomain(stack, { size, stage: 'dev', key: new Key(stack, 'Key'), vpc: vpc as IVpc })
  const [domain] = Object.values(Template.fromStack(stack).findResources('AWS::OpenSearchService::Domain'))
  expect(domain?.Properties.VPCOptions.SubnetIds).toHaveLength(subnets)
})

it('Only functions that create indices, and the migration that requests them, know their shards and replicas', () => {
  for (const [name, { Environment }] of Object.entries(functionsOf(elsewhere.service))) {
    const { FHIR_SEARCH_SHARDS: shards, FHIR_SEARCH_REPLICAS: replicas } = Environment.Variables
    const isCreator =
      name === 'migrate' || FUNCTIONS[name as FunctionName]?.ports.some((port) => port === 'documents' || port === 'rebuilding')
    expect([name, shards, replicas]).toEqual([name, ...(isCreator ? ['Observation=12,Claim=2', '2'] : [undefined, undefined])])
  }
  expect(Object.keys(functionsOf(signed.service).indexer!.Environment.Variables)).not.toContain('FHIR_SEARCH_SHARDS')
})

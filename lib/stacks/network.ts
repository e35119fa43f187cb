/** VPC of the stage: private subnets without a route to the internet, and endpoints for the services that functions call. */
import { Fn } from 'aws-cdk-lib'
import {
  FlowLogDestination,
  GatewayVpcEndpointAwsService,
  InterfaceVpcEndpointAwsService,
  IpAddresses,
  type ISecurityGroup,
  type IVpc,
  Peer,
  Port,
  SecurityGroup,
  SubnetType,
  Vpc,
} from 'aws-cdk-lib/aws-ec2'
import type { IBucket } from 'aws-cdk-lib/aws-s3'
import { Construct } from 'constructs'
import type { VpcSettings } from '../settings/settings.ts'

const FLOW_LOGS = 'vpc-flow-logs/'

export class Network extends Construct {
  readonly vpc: IVpc
  /** Security group of all functions. */
  readonly functions: ISecurityGroup
  /**
   * URL of DynamoDB Streams. Its endpoint has no private DNS name, and the gateway endpoint of DynamoDB does not serve it.
   * https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/privatelink-streams.html
   */
  readonly streamsUrl: string

  constructor(scope: Construct, id: string, { cidr, availabilityZones }: VpcSettings) {
    super(scope, id)
    this.vpc = new Vpc(this, 'Vpc', {
      ipAddresses: IpAddresses.cidr(cidr),
      availabilityZones: [...availabilityZones],
      natGateways: 0,
      subnetConfiguration: [{ name: 'functions', subnetType: SubnetType.PRIVATE_ISOLATED, cidrMask: 22 }],
      gatewayEndpoints: {
        dynamodb: { service: GatewayVpcEndpointAwsService.DYNAMODB },
        s3: { service: GatewayVpcEndpointAwsService.S3 },
      },
      // Restricting it requires an extra function of the CDK. No resource of this project uses that group.
      restrictDefaultSecurityGroup: false,
    }) as IVpc
    this.functions = new SecurityGroup(this, 'Functions', { vpc: this.vpc, description: 'The functions', allowAllOutbound: false })
    this.functions.addEgressRule(Peer.anyIpv4(), Port.tcp(443), 'DynamoDB, S3, OpenSearch, Step Functions, KMS')
    const endpoints = new SecurityGroup(this, 'Endpoints', { vpc: this.vpc, description: 'The endpoints', allowAllOutbound: false })
    endpoints.addIngressRule(this.functions, Port.tcp(443), 'The functions')
    const called = { states: InterfaceVpcEndpointAwsService.STEP_FUNCTIONS, kms: InterfaceVpcEndpointAwsService.KMS }
    for (const [name, service] of Object.entries(called))
      this.vpc.addInterfaceEndpoint(name, { service, securityGroups: [endpoints], open: false })
    const streams = this.vpc.addInterfaceEndpoint('streams', {
      ...{ service: InterfaceVpcEndpointAwsService.DYNAMODB_STREAMS, privateDnsEnabled: false },
      ...{ securityGroups: [endpoints], open: false },
    })
    // An entry consists of the id of a hosted zone and a name.
    this.streamsUrl = `https://${Fn.select(1, Fn.split(':', Fn.select(0, streams.vpcEndpointDnsEntries)))}`
  }

  logTo(bucket: IBucket): void {
    this.vpc.addFlowLog('FlowLog', { destination: FlowLogDestination.toS3(bucket, FLOW_LOGS) })
  }
}

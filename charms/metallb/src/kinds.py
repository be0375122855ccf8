# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""MetalLB's kinds, and those of others that are looked at. Pure."""

from charmkit.kinds import Kind

_V1BETA1 = "metallb.io/v1beta1"
_CALICO = "crd.projectcalico.org/v1"

POOL = Kind(_V1BETA1, "IPAddressPool", "ipaddresspools")
L2_ADVERTISEMENT = Kind(_V1BETA1, "L2Advertisement", "l2advertisements")
BGP_ADVERTISEMENT = Kind(_V1BETA1, "BGPAdvertisement", "bgpadvertisements")
BGP_PEER = Kind("metallb.io/v1beta2", "BGPPeer", "bgppeers")
COMMUNITY = Kind(_V1BETA1, "Community", "communities")
BFD_PROFILE = Kind(_V1BETA1, "BFDProfile", "bfdprofiles")
CONFIGURATION_STATE = Kind(_V1BETA1, "ConfigurationState", "configurationstates")
SERVICE_L2_STATUS = Kind(_V1BETA1, "ServiceL2Status", "servicel2statuses")
SERVICE_BGP_STATUS = Kind(_V1BETA1, "ServiceBGPStatus", "servicebgpstatuses")

WRITTEN = (POOL, L2_ADVERTISEMENT, BGP_ADVERTISEMENT, BGP_PEER, COMMUNITY)
"""Those that the charm writes."""

REPORTED = (CONFIGURATION_STATE, SERVICE_L2_STATUS, SERVICE_BGP_STATUS)
"""Those that MetalLB writes."""

ALL = (*WRITTEN, BFD_PROFILE, *REPORTED)

DEFINITIONS = tuple(f"{kind.plural}.metallb.io" for kind in ALL)
"""Names of their definitions."""

WEBHOOKS = "metallb-webhook-configuration"
"""The webhook configuration that the controller fills in; its name is built into it."""

ENDPOINT_SLICE = Kind("discovery.k8s.io/v1", "EndpointSlice", "endpointslices")
CALICO_BGP_PEER = Kind(_CALICO, "BGPPeer", "bgppeers", namespaced=False)

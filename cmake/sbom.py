#!/usr/bin/env python3
"""sbom.py BUNDLE.tar.gz: writes what the bundle consists of, as SPDX 2.3, into the current folder and prints its name.

Read from the bundle: its libraries, and licenses/versions.txt, which names the package of each library and of each
archive that was linked. A licence is the copyright file of the package. SOURCE_DATE_EPOCH is the time of creation.
"""
import datetime
import hashlib
import json
import os
import re
import sys
import tarfile
import uuid


def spdx_id(name):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", name)


def package(name, version, licence, **more):
    return {"name": name, "SPDXID": spdx_id(f"{name}-{version}"), "versionInfo": version, "downloadLocation": "NOASSERTION",
            "filesAnalyzed": False, "licenseDeclared": licence, "licenseConcluded": "NOASSERTION",
            "copyrightText": "NOASSERTION", **more}


def main():
    path = sys.argv[1]
    with open(path, "rb") as bundle:
        digest = hashlib.sha256(bundle.read()).hexdigest()
    with tarfile.open(path) as bundle:
        files = {member.name.partition("/")[2]: bundle.extractfile(member).read().decode(errors="replace")
                 for member in bundle if member.isfile() and "/licenses/" in member.name}
        version = bundle.getnames()[0].partition("/")[0].rpartition("-")[2]
    packages = [package("contend", version, "Apache-2.0", packageFileName=os.path.basename(path),
                        checksums=[{"algorithm": "SHA256", "checksumValue": digest}])]
    licences, relations = [], [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES",
                                "relatedSpdxElement": packages[0]["SPDXID"]}]
    for line in dict.fromkeys(files["licenses/versions.txt"].splitlines()):  # two programs may link the same
        name, owner, owner_version = line.split()
        licence, text = "NOASSERTION", files.get(f"licenses/{owner}.txt")
        if text is not None:
            licence = "LicenseRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", owner)
            if all(known["licenseId"] != licence for known in licences):
                licences.append({"licenseId": licence, "name": f"copyright of {owner}", "extractedText": text})
        packages.append(package(name, owner_version, licence, packageFileName=name,
                                **({"sourceInfo": f"from the package {owner}"} if owner != "-" else {})))
        relations.append({"spdxElementId": packages[0]["SPDXID"], "relatedSpdxElement": packages[-1]["SPDXID"],
                          "relationshipType": "STATIC_LINK" if name.endswith(".a") else "DYNAMIC_LINK"})
    created = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
    name = os.path.basename(path)[:-len(".tar.gz")]
    document = {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": name,
        "documentNamespace": uuid.uuid5(uuid.NAMESPACE_OID, digest).urn,
        "creationInfo": {"created": created.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": ["Tool: contend-sbom.py"]},
        "packages": packages, "relationships": relations, "hasExtractedLicensingInfos": licences,
    }
    with open(f"{name}.spdx.json", "w", encoding="utf-8") as out:
        json.dump(document, out, indent=1)
        out.write("\n")
    print(f"{name}.spdx.json")


main()

# Pets in flask-smorest, in the manner of its tutorial: in memory, with entity tags. It brings its document:
# /openapi.json.
import uuid

import marshmallow as ma
from cheroot.wsgi import Server
from flask import Flask
from flask.views import MethodView
from flask_smorest import Api, Blueprint, abort

app = Flask("pets")
app.config.update(API_TITLE="Pets in flask-smorest", API_VERSION="v1", OPENAPI_VERSION="3.0.2", OPENAPI_URL_PREFIX="/")
api = Api(app)
blueprint = Blueprint("pets", "pets", url_prefix="/pets")
PETS = {}


class PetSchema(ma.Schema):
    id = ma.fields.String(dump_only=True)
    name = ma.fields.String(required=True)
    weight = ma.fields.Float()


def load(pet_id):
    try:
        return PETS[pet_id]
    except KeyError:
        abort(404, message="There is no such pet.")


@blueprint.route("/")
class Pets(MethodView):
    @blueprint.response(200, PetSchema(many=True))
    def get(self):
        return list(PETS.values())

    @blueprint.etag
    @blueprint.arguments(PetSchema)
    @blueprint.response(201, PetSchema)
    def post(self, pet):
        pet["id"] = str(uuid.uuid4())
        PETS[pet["id"]] = pet
        return pet


@blueprint.route("/<pet_id>")
class PetById(MethodView):
    @blueprint.etag
    @blueprint.response(200, PetSchema)
    def get(self, pet_id):
        return load(pet_id)

    @blueprint.etag
    @blueprint.arguments(PetSchema)
    @blueprint.response(200, PetSchema)
    def put(self, new, pet_id):
        pet = load(pet_id)
        blueprint.check_etag(pet, PetSchema)
        pet = {**new, "id": pet_id}
        PETS[pet_id] = pet
        return pet

    @blueprint.etag
    @blueprint.response(204)
    def delete(self, pet_id):
        blueprint.check_etag(load(pet_id), PetSchema)
        del PETS[pet_id]


api.register_blueprint(blueprint)
server = Server(("127.0.0.1", PORT), app, numthreads=16)
try:
    server.start()
except KeyboardInterrupt:
    server.stop()
